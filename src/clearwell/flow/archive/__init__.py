"""Archive: a group as a file.

In: everything of a group, at one moment. Out: lines of JSON in batches, each sealed and signed with the key of the
installation. Next: the same or another installation verifies each batch and adds its rows.

``exporter`` reads a group and writes its batches, ``format`` makes the lines and seals and verifies them, and
``importer`` stores the batches, each once.
"""
