"""Ids that were found by their short form."""

from uuid import UUID

from pydantic import Field

from clearwell.views.view import View


class IdsView(View):
    """The ids that were found."""

    ids: tuple[UUID, ...] = Field(description="at most ten, in order")
