"""The text of a promoted insight. Where its sources contradict each other, the person names a side.

A memory that states two sides of one question would be wrong whichever of them is true. So an insight with sides is
promoted by naming one of them, or in the words of a person. With ``despite`` all sides become one memory, which has the
flag ``contradiction`` wherever it is shown: that the group disagrees is then what is known.
"""

from typing import Final

from clearwell.errors import Conflict, InvalidInput
from clearwell.flow import limits
from clearwell.flow.review.insights import OPEN
from clearwell.records import DecisionRequest, Insight, InsightSource, Writer
from clearwell.settings import Settings
from clearwell.text.segments import restore_whole
from clearwell.vocabulary import Flag

OBSTACLES: Final = (Flag.CONTRADICTION,)
"""What an insight can be promoted in spite of."""


def choose_text(insight: Insight, request: DecisionRequest, settings: Settings) -> str:
    """The text to promote. Raises Conflict with the sides where one has to be named."""
    if unknown := [one for one in request.despite if one not in OBSTACLES]:
        raise InvalidInput("promote_despite", field="despite", value=unknown[0], limit=", ".join(OBSTACLES))
    if request.text is not None:
        if request.side is not None:
            raise InvalidInput("promote_side_and_text", field="side")
        return limits.require_readable(request.text, "text", max_bytes=settings.max_content_bytes)
    if request.side is not None:
        return find_side_text(insight, request.side)
    if promotes_all_sides(insight, request):
        return "\n".join(find_side_text(insight, number) for number in range(len(insight.sides)))
    if needs_side(insight):
        raise Conflict("insight_has_sides", current={"sides": _describe_sides(insight)}, id=insight.id)
    return find_text(insight)


def needs_side(insight: Insight) -> bool:
    """Whether a side has to be named to promote this insight. A summary that a person wrote is a choice already."""
    return _is_disputed(insight) and insight.state in OPEN


def promotes_all_sides(insight: Insight, request: DecisionRequest) -> bool:
    """Whether the promoted text states sides that contradict each other."""
    is_chosen = request.text is not None or request.side is not None
    return not is_chosen and _is_disputed(insight) and Flag.CONTRADICTION in request.despite


def _is_disputed(insight: Insight) -> bool:
    return bool(insight.sides) and insight.written_by is not Writer.PERSON


def select_sources(insight: Insight, request: DecisionRequest) -> tuple[InsightSource, ...]:
    """The sources that the promoted text is based on: those of the side that was named, or all."""
    if request.side is None:
        return insight.sources
    supporting = set(insight.sides[request.side].log_ids)
    return tuple(source for source in insight.sources if source.log_id in supporting)


def find_text(insight: Insight) -> str:
    """Return what a promotion of the insight stores: its summary, whole where it was cut because it is long."""
    if insight.written_by is Writer.PERSON:
        return insight.summary
    return restore_whole(insight.summary, (one.statement for one in insight.sources if one.statement is not None))


def find_side_text(insight: Insight, number: int) -> str:
    """Return what a promotion of this side stores. Raises InvalidInput if there is no such side."""
    if not 0 <= number < len(insight.sides):
        code = "promote_side_unknown" if insight.sides else "promote_no_sides"
        raise InvalidInput(code, field="side", id=insight.id, value=number, limit=len(insight.sides) - 1)
    side = insight.sides[number]
    supporting = set(side.log_ids)
    sources = (one for one in insight.sources if one.log_id in supporting)
    return restore_whole(side.statement, (one.statement for one in sources if one.statement is not None))


def find_promoted_side(insight: Insight) -> int | None:
    """The number of the side that was promoted; None if the insight is not promoted, or in other words."""
    if not insight.promoted_text:
        return None
    sides = range(len(insight.sides))
    return next((number for number in sides if find_side_text(insight, number) == insight.promoted_text), None)


def _describe_sides(insight: Insight) -> list[dict[str, object]]:
    return [
        {"side": number, "statement": side.statement, "agents": side.support.agents, "sources": len(side.log_ids)}
        for number, side in enumerate(insight.sides)
    ]
