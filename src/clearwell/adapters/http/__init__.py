"""The HTTP API. ``create_app()`` makes the application, also for ``uvicorn --factory``.

How a request travels, in the order of the modules:

1. ``app``: ``Edge`` is the outermost layer. FastAPI finds the route.
2. ``request``: ``ApiRoute`` makes an ``ApiRequest`` of it. ``callers`` finds out who asks; then the body is read, up to
   its limit and as a JSON object.
3. FastAPI validates the body and the query by the models that the endpoint names. What several of them have in common
   is in ``fields``.
4. ``api``: the endpoint turns the model into a record of the library, calls one method of the service, and returns a
   view of what came back (``clearwell.views``). FastAPI writes the view as JSON.
5. ``problems``: an error on the way, ours or FastAPI's, becomes a problem in the caller's language.

``openapi`` completes the document that FastAPI derives from the models, ``docs`` shows it to people, and ``metrics``
has the numbers for Prometheus.
"""

from clearwell.adapters.http.app import create_app

__all__ = ["create_app"]
