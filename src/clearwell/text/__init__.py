"""Text analysis that all packages share. In: a text. Out: its terms, values, sentences or normal form.

``languages`` has an object for each language. ``terms`` counts the terms that retrieval searches (with ``dates``),
``segments`` splits an output into claims, decisions and other segments (with ``markdown_blocks``, ``page_text``,
``prompt_text`` and ``kinds``), ``sentences`` finds sentences and truncates text after one, ``marks`` removes
Markdown, ``splitter`` makes chunks, ``characters`` measures display width and finds composed characters, ``numerals``
reads numbers, ``normalisation`` maps the different spellings of a value to one, ``hidden_text`` finds invisible
characters, ``injection`` detects prompt injection, ``flags`` combines both, and ``words`` has the word lists. Nothing
here depends on memories, stores or callers.
"""
