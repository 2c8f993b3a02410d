"""Whether the process lives, and whether it can serve."""

from typing import Literal

from pydantic import Field

from clearwell.views.view import View


class AliveView(View):
    """The process lives."""

    status: Literal["alive"] = "alive"


class ReadyView(View):
    """It can serve."""

    status: Literal["ready"] = "ready"
    degraded: tuple[str, ...] = Field(description="parts that do not answer", examples=[[], ["working_memory"]])
