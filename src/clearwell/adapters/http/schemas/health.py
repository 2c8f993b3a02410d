"""The forms of being alive and ready."""

from pydantic import BaseModel, Field


class AliveAnswer(BaseModel):
    status: str = Field(examples=["alive"])


class ReadyAnswer(BaseModel):
    status: str = Field(examples=["ready"])
    degraded: list[str] = Field(description="parts that do not answer", examples=[[], ["working_memory"]])
