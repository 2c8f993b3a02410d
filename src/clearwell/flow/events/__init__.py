"""Events: what happens on the path, for people and programs that watch it.

In: every stage publishes an event after a change is committed. Out: a stream for each group that readers follow.
``publisher`` writes events in the background, and ``decisions`` gives it those of people's decisions. ``feed`` is what
readers follow, ``visibility`` says which events a reader gets, and ``delivery`` calls a function with each event.
Events are best effort and hold no text: the audit is the record, and the stores are the truth.
"""
