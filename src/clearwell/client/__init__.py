"""Clearwell over HTTP, typed like the library.

``client`` and ``review`` have one method for each route and return the view that the route answers with. ``api`` sends
the requests, ``problems`` turns the problems that a server answers with into the errors of the library, and
``discovery`` finds the server that runs on a data folder.
"""
