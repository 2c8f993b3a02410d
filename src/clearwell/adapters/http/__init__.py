"""The HTTP API. ``create_app()`` makes the application, also for ``uvicorn --factory``."""

from clearwell.adapters.http.app import create_app

__all__ = ["create_app"]
