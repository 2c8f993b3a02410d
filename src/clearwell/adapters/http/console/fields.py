"""Fields of filters in the address of a page. A form sends every field, so a blank one means that it is not set."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, TypeVar
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict

T = TypeVar("T")


def _drop_blank(value: object) -> object:
    return None if isinstance(value, str) and not value.strip() else value


Optional = Annotated[T | None, BeforeValidator(_drop_blank)]


class Filters(BaseModel):
    """What a list shows, and where its page begins."""

    model_config = ConfigDict(frozen=True)

    before: Optional[UUID] = None

    @property
    def kept(self) -> dict[str, str]:
        """The filters that are set, for the address of the next page."""
        return self.model_dump(mode="json", exclude_none=True, exclude_defaults=True, exclude={"before"})


def start_of(day: date | None) -> datetime | None:
    """The beginning of a day."""
    return None if day is None else datetime.combine(day, time(), UTC)


def end_of(day: date | None) -> datetime | None:
    """The end of a day."""
    return None if day is None else datetime.combine(day, time(), UTC) + timedelta(days=1)
