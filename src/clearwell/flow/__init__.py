"""The path, one verb a file, in the order an agent's words travel it.

``limits``     what may come in at all: sizes, ids, characters
``capture``    one output of a node becomes a row of quarantine
``ingress``    the checks between quarantine and working memory, each with its verdict
``admit``      run the checks, push what passed to working memory, settle the row
``split``      text into chunks
``promote``    a person's decision becomes verified chunks with vectors
``retrieve``   working and long-term memory together, labelled and ordered
``access``     who may do what, in which group
"""
