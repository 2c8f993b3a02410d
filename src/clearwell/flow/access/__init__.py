"""Access: who may do what, in which group.

``permissions`` checks the rights of a caller; ``gate`` lets only people decide and records refusals; ``keys`` creates,
revokes and authenticates API keys.
"""
