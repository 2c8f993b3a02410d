"""Re-embedding: the move of long-term memory to another embedding model while the program is in use.

In: the configured model and the new one. Out: every chunk has a vector of the new model. Next: the operator configures
the new model and restarts the programs.

``migration`` plans and runs a move, ``models`` holds the models that are in use and searches both while rows move, and
``scale`` translates the cosines of one model to those of the other.
"""
