"""Adapters: HTTP and the command line. Each one parses its input, calls one method of the service, renders a view."""
