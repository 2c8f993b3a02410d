"""Re-embedding: give long-term memory vectors of another embedding model while the program is in use.

In: the configured model and the new one. Out: every chunk has a vector of the new model. Next: the operator configures
the new model and restarts the programs.

``reembedder`` plans and runs a re-embedding, ``models`` holds the models that are in use and searches with both during
a re-embedding, and ``scale`` translates the cosines of one model to those of the other.
"""
