"""Erasure: forget an output, a session, an agent, a group, a memory, or everything that contains a subject.

In: what to forget. ``planning`` finds everything that holds it, ``forgetter`` previews and erases it. Out: a signed
receipt without the text, and tombstones that keep the values from coming back.
"""
