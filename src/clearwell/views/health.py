"""Whether the process lives, and whether it can serve."""

from typing import Literal

from pydantic import Field

from clearwell.views.view import View


class AliveView(View):
    """The process is alive."""

    status: Literal["alive"] = "alive"


class ReadyView(View):
    """Whether requests can be served."""

    status: Literal["ready"] = "ready"
    degraded: tuple[str, ...] = Field(description="components that do not respond", examples=[[], ["working_memory"]])
