"""Clearwell over HTTP, typed like the library.

``client`` is the client: the methods of the memory manager, with the same parameters and records. ``review`` has those
of review, and ``nodes`` the nodes of a workflow that a server runs. ``fields`` turns records and limits of the library
into the fields and pages of the API. ``routes`` and ``review_routes`` have one method for each route and return the
view that the route answers with. ``api`` sends the requests, ``retries`` sends failed ones again, ``events`` follows
the events of a group, ``problems`` turns the problems that a server answers with into the errors of the library, and
``discovery`` finds the server of a data folder.
"""
