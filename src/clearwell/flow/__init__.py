"""The path, one verb a file, in the order an agent's words travel it.

``limits``     what may come in at all: sizes, ids, characters
``capture``    one output of a node becomes a row of quarantine
``policies``   what may become of an output, by the type of its node
``hidden``     text that a reader does not see, or that speaks to the reader's machine
``normal``     one form for all the ways to write the same value
``echo``       what an agent said itself, and what it only repeats
``sameness``   whether two texts say the same, contradict each other, or neither
``ingress``    the checks between quarantine and working memory, each with its verdict
``known``      what the group knows that bears on a capture
``filter``     the checks in their order, up to the first failure
``admit``      run the filter, push what passed to working memory, settle the row
``queue``      admissions under way in this process, off the caller's path
``rebuild``    working memory made anew after a loss
``tombstones`` values that must not come back
``digest``     rows of quarantine become drafts of insights, by arithmetic alone
``digesting``  when a digest is due, what it looks at, who writes it, who may read it
``split``      text into chunks
``promote``    a person's decision becomes verified chunks with vectors
``retrieve``   working and long-term memory together, labelled and ordered
``access``     who may do what, in which group
"""
