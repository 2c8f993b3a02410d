"""Captures of the middleware that are not delivered."""

from datetime import datetime

from clearwell.views.view import View


class SpooledView(View):
    """What waits for one memory and caller, and what they refused."""

    destination: str
    path: str
    waiting: int
    bytes: int
    oldest_at: datetime | None
    refused: int


class SpoolView(View):
    """A spool: what it has for each memory and caller."""

    path: str
    destinations: tuple[SpooledView, ...]


class DeliveryView(View):
    """What was delivered and refused, and what still waits."""

    delivered: int
    refused: int
    waiting: int


class DiscardView(View):
    """How many captures were deleted that had been refused, and that were waiting."""

    refused: int
    waiting: int
