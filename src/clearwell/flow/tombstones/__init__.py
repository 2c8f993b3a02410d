"""Tombstones: values that a person rejected, or that were forgotten, do not come back.

A tombstone holds a hash of its value and never the text, so that nobody can read from it what was forgotten.

``hashing`` makes the hashes by which every stage recognises such values. ``rejection`` adds the tombstones of rejected
values, for review, retraction and ``registry``, which adds, lifts and lists them for callers. ``flow.erasure`` adds
those of forgotten values.
"""
