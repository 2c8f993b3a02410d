"""The base of all views."""

from dataclasses import Field, fields
from functools import cache
from typing import Any, ClassVar, Protocol, Self, TypeVar

from pydantic import BaseModel, ConfigDict


class Record(Protocol):
    """A dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


R = TypeVar("R", bound=Record)


class View(BaseModel):
    """One public answer, or a part of one."""

    # A program that reads one kind of answer does not wait until the validators of all others are built.
    model_config = ConfigDict(frozen=True, validate_by_name=True, serialize_by_alias=True, defer_build=True)

    @classmethod
    def read(cls, record: object, **derived: Any) -> Self:
        """Make a view: ``derived`` names some of its values, all others are the record's attributes of the same names.

        Raises AttributeError where the record has no attribute of that name.
        """
        for name in _names_to_read(cls, tuple(derived)):
            derived[name] = getattr(record, name)
        return cls.model_validate(derived)

    def make(self, record: type[R], **derived: Any) -> R:
        """Make a record, as ``read`` makes a view: all fields that are not in ``derived`` are those of the same names.

        Fields of the record that the view does not have keep their defaults.
        """
        for name in _names_to_make(type(self), record, tuple(derived)):
            derived[name] = getattr(self, name)
        return record(**derived)


@cache
def _names_to_read(view: type[View], derived: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in view.model_fields if name not in derived)


@cache
def _names_to_make(view: type[View], record: type[Record], derived: tuple[str, ...]) -> tuple[str, ...]:
    names = (field.name for field in fields(record) if field.init)
    return tuple(name for name in names if name not in derived and name in view.model_fields)


def is_absent(value: object) -> bool:
    """Whether a value is omitted from the JSON: a condition for ``exclude_if``."""
    return value is None
