"""What the bodies and queries of several routes have in common: the group under either name, times and pages.

These models say which names and types a request may have. Values are checked once, by ``clearwell.flow.limits``.
"""

from datetime import datetime
from typing import Annotated, ClassVar, Self
from uuid import UUID

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from clearwell.vocabulary import Flag

MAX_RESULTS = 100
MAX_PAGE = 200
MAX_FLAWS = 1_000
"""Beyond this a body is of another form altogether, and its flaws are only counted."""
ONE, MANY = "(one)", "(many)"
"""Tags of the two forms of a body that may hold one thing or a batch."""


def _read_moment(value: object) -> datetime:
    # fromisoformat overlooks a NUL at the end
    if not isinstance(value, str) or not value.isprintable():
        raise PydanticCustomError("moment", "not a time")
    try:
        return datetime.fromisoformat(value)
    except ValueError as error:
        raise PydanticCustomError("moment", "not a time") from error


Moment = Annotated[datetime, BeforeValidator(_read_moment)]
Id = Annotated[UUID, Field(strict=False)]
Group = Annotated[str, Field(default_factory=str, description="the group, 1 to 200 characters")]
GroupAlias = Annotated[str, Field(default_factory=str, description="another name for group_id")]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Acknowledge = Annotated[
    list[Annotated[str, Field(json_schema_extra={"enum": [Flag.HIDDEN_TEXT, Flag.INSTRUCTION_LIKE]})]],
    Field(
        max_length=2,
        description="what you have seen in the text: hidden_text, that it hides characters; instruction_like, that it "
        "reads like an instruction to an agent. Such a text is refused without it (409)",
    ),
]
KeepInvisible = Annotated[bool, Field(description="store invisible characters, too; they are removed by default")]


class RequestBody(BaseModel):
    """The base of every body: no unknown fields, and no types but those of JSON."""

    model_config = ConfigDict(extra="forbid", strict=True)

    may_be_blank: ClassVar[bool] = False
    """Whether a request without a body means an empty object."""

    @model_validator(mode="wrap")
    @classmethod
    def _count_flaws(cls, value: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(value)
        except ValidationError as error:
            count = error.error_count()
            if count > MAX_FLAWS:
                raise PydanticCustomError("many_flaws", "too many errors", {"count": count}) from None
            raise


class GroupedBody(RequestBody):
    """The group under either of its names.

    A null or empty group is refused; an absent one means the only group of the key.
    """

    group_needed: ClassVar[bool] = False

    group_id: Group
    project_id: GroupAlias

    @model_validator(mode="after")
    def _require_one_group(self) -> Self:
        named = {"group_id", "project_id"} & self.model_fields_set
        if len(named) == 2 and self.group_id != self.project_id:
            raise PydanticCustomError("group_twice", "two groups")
        if not named and self.group_needed:
            raise PydanticCustomError("group_missing", "no group")
        return self

    @property
    def named_group(self) -> str | None:
        """The group that the caller named, or None."""
        if "group_id" in self.model_fields_set:
            return self.group_id
        return self.project_id if "project_id" in self.model_fields_set else None


class RowInput(GroupedBody):
    """The group of a row that is named by its id."""


class GroupParameters(GroupedBody):
    """The group in a query string, where every value is text."""

    model_config = ConfigDict(strict=False)


class PageParameters(GroupParameters):
    """A page of a group's rows."""

    limit: int = Field(50, ge=1, le=MAX_PAGE)
    before: UUID | None = Field(None, description="the value of next from the previous page")
