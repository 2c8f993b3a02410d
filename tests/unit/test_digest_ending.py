"""What is said of a digest that is done: why there is nothing, whose insights are left out, what comes again."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

import numpy as np
import pytest

from clearwell.flow.digest.drafting import Drafts
from clearwell.flow.digest.material import DigestRows
from clearwell.flow.digest.outcome import DigestOutcomes
from clearwell.flow.digest.summaries import Texts
from clearwell.records import Admission, Digest, DigestCandidate, DigestStatus, Insight, Json, SegmentKind
from clearwell.settings import Settings
from tests.path import Path
from tests.unit.test_digesting import GATEWAY, agreed, keep, made, says

AT = datetime(2026, 1, 1, tzinfo=UTC)
RUN = Digest(id=UUID(int=1), group_id="g", status=DigestStatus.RUNNING, requested_by="ann", created_at=AT)


def looked_at(*times: int) -> dict[UUID, int]:
    return {UUID(int=number): considered for number, considered in enumerate(times, start=10)}


def statement(log_id: UUID) -> DigestCandidate:
    return DigestCandidate(
        log_id=log_id,
        number=0,
        span=(0, 1),
        kind=SegmentKind.CLAIM,
        statement="x",
        text="x",
        headline="x",
        agent_id="a",
        session_id=None,
        node_id=None,
        node_type="agent",
        occurred_at=AT,
        confidence=None,
        admission=Admission.ADMITTED,
        embedding=np.ones(2, dtype=np.float32),
    )


def ended(
    considered: Mapping[UUID, int],
    insights: Sequence[Insight] = (),
    *,
    empty: bool = False,
    capped: Json = None,
    waiting: int = 0,
) -> Digest:
    drafts = Drafts(drafts=(), report={"capped": capped or {}, "waiting": waiting})
    gathered = DigestRows(candidates=[statement(log_id) for log_id in considered], considered=considered, empty=empty)
    return DigestOutcomes(Settings(digest_looks=4)).finish(RUN, gathered, drafts, Texts(insights=insights))


def test_what_is_looked_at_for_the_last_time_is_not_called_a_candidate() -> None:
    first = str(ended(looked_at(0, 0)).explanation("en"))
    assert first.endswith("2 of them remain candidates for the next digests.")
    assert "not considered again" not in first
    last = str(ended(looked_at(3, 3, 0)).explanation("en"))
    assert "1 of them remains a candidate" in last
    assert "2 of them have been considered 4 times and are not considered again" in last
    assert "candidate" not in str(ended(looked_at(3)).explanation("en"))
    assert "不再参与" in str(ended(looked_at(3)).explanation("zh"))


def test_a_group_in_which_nothing_was_captured_is_told_from_one_with_nothing_new() -> None:
    assert "Nothing has been captured in the group g." in str(ended({}, empty=True).explanation("en"))
    assert "nothing new" in str(ended({}).explanation("en"))


async def test_a_digest_says_whose_insights_were_left_out() -> None:
    path = Path()
    await keep(path, *agreed(GATEWAY))
    insights = (await made(path)).insights
    few = ended(looked_at(0), insights, capped={"agent star": 9, "unknown": 1, **{f"agent {n}": 2 for n in range(6)}})
    told = str(few.explanation("en"))
    assert "not enough material" not in told
    assert told.endswith("Omitted insights by agent: star (9), 0 (2), 1 (2), 2 (2), 3 (2) ….")
    assert "每个智能体的洞察数量有上限" in str(few.explanation("zh"))
    assert "is limited" not in str(ended(looked_at(0), insights).explanation("en"))
    assert "Further insights with enough support: 3." in str(ended(looked_at(0), insights, waiting=3).explanation("en"))
    assert "另有 3 条洞察" in str(ended(looked_at(0), insights, waiting=3).explanation("zh"))


@pytest.mark.parametrize("agents", [1, 4])
async def test_a_digest_without_insights_says_why(agents: int) -> None:
    path = Path()
    rows = [
        says(f"Import of batch {number} finished after {number * 7} seconds without any error.", f"a{number % agents}")
        for number in range(3, 40)
    ]
    await keep(path, *rows)
    digest = await made(path)
    assert (digest.insights, digest.note) == ((), "digest_no_insight")
    assert "repeat one sentence with different values, like a log" in str(digest.explanation("en"))
    asked = await path.memory.digest(digest.id)
    assert "candidates for the next digests" in str(asked.explanation("en"))
