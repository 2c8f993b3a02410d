"""The form of what went wrong."""

from typing import Any

from pydantic import BaseModel, Field


class FlawSchema(BaseModel):
    """One thing that is wrong with a request."""

    field: str
    code: str
    detail: str
    limit: Any = None


class Problem(BaseModel):
    """What went wrong (RFC 9457). The type is stable; title and detail follow Accept-Language."""

    type: str = Field(examples=["urn:clearwell:problem:text_blank"])
    title: str
    status: int
    detail: str = Field(examples=["content is empty or blank.", "content 为空或只有空白。"])
    field: str | None = Field(None, description="the field that is wrong")
    limit: Any = Field(None, description="the limit that it breaks")
    errors: list[FlawSchema] | None = Field(None, description="everything that is wrong with the structure")
    current: dict[str, Any] | None = Field(None, description="what is there now, where that is what stands against it")
