"""``history_context``: what was retrieved, as Markdown for the nodes that follow."""

from collections.abc import Sequence

from clearwell.flow.context.fencing import line_of
from clearwell.messages import Language
from clearwell.records import ContextItem

HEADING = "## 历史上下文 / History"


def history_context(items: Sequence[ContextItem], language: Language = "en") -> str:
    """One line an item: number, label, and the text as data in its fence. Nothing where there is nothing."""
    lines = [line_of(number, item, language) for number, item in enumerate(items, start=1)]
    return "\n".join([HEADING, *lines]) if lines else ""
