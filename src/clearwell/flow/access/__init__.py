"""Access: who may do what, in which group.

``permissions`` checks the rights of a caller; ``gate`` lets only people decide and records refusals; ``keys`` creates,
revokes and authenticates API keys. ``rates`` limits the requests of a key, and ``turns`` has keys wait for each other
while the process is behind.
"""
