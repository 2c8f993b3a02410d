"""The synchronous face of Clearwell: the library and the client without ``await``.

Async is the only source. ``loop_thread`` runs an event loop in a thread of its own, and ``memory`` and ``client`` are
written by ``scripts/sync.py`` from the asynchronous classes: each method runs its counterpart on that loop and returns
its result. ``face`` finds the asynchronous counterpart and the loop behind an object. ``opener`` has ``open_memory``,
which opens the library for both; ``node`` is a node of a workflow.
"""
