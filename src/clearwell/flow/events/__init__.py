"""Events: what happens on the path, for people and programs that watch it.

In: every stage publishes an event after a change is committed. Out: a stream for each group that readers follow.
``publisher`` writes events in the background. ``feed`` is what readers follow, and ``visibility`` says which events a
reader gets. Events are best effort and hold no text: the audit is the record, and the stores are the truth.
"""
