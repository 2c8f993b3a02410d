"""Archive: a group as a file.

What comes in: everything of a group, at one moment. What goes out: lines of JSON in batches, each sealed and signed
with the key of the installation. What comes next: the same or another installation verifies each batch and adds its
rows.
"""
