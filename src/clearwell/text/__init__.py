"""Text, read the same way everywhere: terms, stems, numerals, dates, normal forms, cutting and splitting.

Nothing here knows of memories, stores or callers.
"""
