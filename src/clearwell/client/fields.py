"""From the records and limits of the library to the fields and pages of the API."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Final, Protocol, TypeVar

from clearwell.client.problems import error_from
from clearwell.errors import ClearwellError
from clearwell.views.problems import ProblemView
from clearwell.views.view import Record

R = TypeVar("R", covariant=True)

LONGEST_PAGE: Final = 200


class Convertible(Protocol[R]):
    """A view that can be turned into a record."""

    def to_record(self) -> R: ...


def read_results(results: Iterable[Convertible[R] | ProblemView]) -> list[R | ClearwellError]:
    """A record or an error in the place of each result of a batch."""
    return [error_from(result) if isinstance(result, ProblemView) else result.to_record() for result in results]


def read_fields(record: Record, *, without: Sequence[str] = ()) -> dict[str, object]:
    """The fields of a record that are set, by their names."""
    values = {field.name: getattr(record, field.name) for field in fields(record) if field.name not in without}
    return {name: value for name, value in values.items() if value is not None}


def split_limit(limit: int) -> Iterator[int]:
    """The sizes of the pages that hold ``limit`` items. A limit that is not valid is the server's to refuse."""
    if limit < 1:
        yield limit
    while limit > 0:
        yield min(limit, LONGEST_PAGE)
        limit -= LONGEST_PAGE
