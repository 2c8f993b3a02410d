"""Text, read the same way everywhere. In: a text. Out: its terms, values, sentences or normal form.

``languages`` has an object for each language. ``terms`` counts the terms that retrieval searches (with ``dates``),
``segments`` cuts an output into claims, decisions and the rest (with ``markdown_blocks``, ``page_text`` and ``kinds``),
``sentences`` splits a text and cuts it after a sentence, ``marks`` removes Markdown, ``splitter`` makes chunks,
``characters`` says which of them are drawn as one and how wide they are, ``numerals`` reads numbers, ``normalisation``
folds the ways to write one value, ``hidden_text`` finds what a reader does not see, ``machine_address`` what speaks to
the machine, ``flags`` says both of a text, and ``words`` holds the word lists. Nothing here knows of memories, stores
or callers.
"""
