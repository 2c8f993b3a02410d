"""The pages of the console, in the order of the path. A page that is added here is in the menu of every page."""

from dataclasses import dataclass
from urllib.parse import quote

from clearwell.records import Principal, Right


@dataclass(frozen=True, slots=True)
class Page:
    """A page for one group: the last part of its address, which names its message, and its icon in the sprite.

    It is in the menu of whoever has the ``right``, if it needs one.
    """

    name: str
    right: Right | None = None

    @property
    def label(self) -> str:
        """The code of its name in the menu."""
        return f"console_page_{self.name}"

    def is_open_to(self, caller: Principal) -> bool:
        return self.right is None or self.right in caller.rights


PAGES = (
    *map(Page, ("overview", "review", "quarantine")),
    Page("working", Right.READ),
    Page("memories"),
    Page("playground", Right.READ),
    *map(Page, ("chat", "agents", "audit")),
    Page("forget", Right.ADMIN),
)


def page_url(group: str, name: str) -> str:
    """The address of a page about a group."""
    return f"/g/{quote(group, safe='')}/{name}"
