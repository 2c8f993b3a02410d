"""The public shape of every answer, declared once.

A view is a pydantic model. ``from_record`` makes it from what the service returns, in the language of the reader. HTTP
returns views, OpenAPI is derived from them, the command line prints them with ``--json``, and a client reads an answer
back with ``model_validate_json``. A new field of an answer is a new field of its view and nothing else.

==================  ================================================================================================
``captures``        receipts of captures, verdicts and flags of the ingress pipeline, rows of quarantine
``memories``        promoted texts, retrieved memories, entries of working memory
``context``         contexts built for an agent, and runs of the memory-retrieval node
``digests``         digests and the insights in them
``insights``        insights, as a digest shows them and under review
``dossiers``        an insight with its nearby memories, rejections, decisions and promotion
``decisions``       decisions on record, and what a decision led to
``provenance``      where a memory comes from, what is based on an output, and review statistics
``groups``          groups, agents and tombstones
``evaluation``      how good the configured models are
``factcheck``       claims and the evidence for and against them
``statistics``      counts, activity by day, and how reliable agents are
``events``          what happened in a group
``audit``           events of the audit, and what verification found
``erasure``         what a forget touches, and its receipt
``archive``         what an export or an import did
``installation``    keys, settings and the demo meeting
``maintenance``     what commands of an operator did
``status``          what runs where, and what is wrong with it
``spool``           captures of the middleware that are not delivered
``mcp``             what tools and resources of the MCP server return
``settings``        the settings in force
``ids``             whole IDs for short ones
``health``          whether the process is alive and ready
``problems``        errors (RFC 9457), with the ``flaws`` of a request
``view``            the base of all views
==================  ================================================================================================
"""
