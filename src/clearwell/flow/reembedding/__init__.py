"""Re-embedding: the migration of long-term memory to another embedding model while everything runs.

``migration`` gives every chunk a vector of the new model, ``models`` holds the models that are in use meanwhile, and
``scale`` translates the similarities of one model to those of the other.
"""
