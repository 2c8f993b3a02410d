"""Access: who may do what, in which group.

``permissions`` checks the rights of a caller, ``gate`` lets only people decide and records refusals, and ``keys``
creates, stores and looks up API keys.
"""
