"""``explain``: where an output is now, what it repeats, who said it again, and how that is written."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from clearwell.adapters.cli.quarantine import TracedOutput, show_statements, trace_output
from clearwell.adapters.cli.terminal import Terminal, shorten
from clearwell.adapters.cli.verdicts import name_flag, show_verdicts, write_reason, write_value
from clearwell.errors import NotFound, WorkingMemoryUnavailable
from clearwell.records import Layer, NewCapture, Outcome, Verdict, WorkingEntry
from clearwell.settings import Settings
from clearwell.testing import ManualClock, MemoryWorkingStore
from clearwell.text.segments import MAX_SEGMENTS
from clearwell.views.captures import VerdictView
from clearwell.vocabulary import OutputState
from tests.path import LONG, OTHER, Path, client_of, said

DAY = timedelta(days=1)


async def captured(path: Path, new: NewCapture) -> UUID:
    return (await path.memory.capture(new, wait=True)).id


async def trace(path: Path, log_id: UUID, group_id: str = "g") -> TracedOutput:
    async with client_of(path) as client:
        return await trace_output(client, group_id, log_id, ttl=DAY, now=path.clock.now())


async def test_an_entry_is_live_for_its_day_then_expired() -> None:
    path = Path()
    log_id = await captured(path, said())
    found = await trace(path, log_id)
    assert found.state is OutputState.LIVE
    assert found.entry is not None
    path.clock.forward(DAY)
    assert (await trace(path, log_id)).state is OutputState.EXPIRED


async def test_an_entry_is_removed_or_gives_place_to_newer_ones() -> None:
    path = Path(settings=Settings(working_size=1))
    first, second = await captured(path, said()), await captured(path, said(OTHER))
    assert (await trace(path, first)).state is OutputState.DISPLACED
    await path.memory.remove_working_entry(second, group="g")
    assert (await trace(path, second)).state is OutputState.REMOVED


async def test_what_is_not_admitted_is_refused_or_waits() -> None:
    path = Path()
    assert (await trace(path, await captured(path, said("short")))).state is OutputState.REFUSED
    waiting = await path.memory.log_quarantine("s", "n", LONG, group="g")
    assert (await trace(path, waiting)).state is OutputState.WAITING
    without_group = await captured(path, said(group_id=None))
    assert (await trace(path, without_group, "unassigned")).state is OutputState.REFUSED
    with pytest.raises(NotFound):
        await trace(path, UUID(int=99))


class Gone(MemoryWorkingStore):
    """Working memory that takes entries and then does not answer."""

    down = False

    async def entries(self, group_id: str) -> list[WorkingEntry]:
        if self.down:
            raise WorkingMemoryUnavailable("working_unavailable", problem="gone")
        return await super().entries(group_id)


async def test_without_working_memory_the_rest_is_told() -> None:
    working = Gone(ManualClock())
    path = Path(working=working)
    log_id = await captured(path, said())
    working.down = True
    found = await trace(path, log_id)
    assert (found.state, found.row.content) == (OutputState.UNKNOWN, LONG)


async def test_a_repeat_knows_what_it_repeats_and_another_agent_corroborates() -> None:
    path = Path()
    first = await captured(path, said())
    own = await captured(path, said(LONG.upper()))
    other = await captured(path, NewCapture(content=LONG.upper(), group_id="g", agent_id="a2"))
    repeat = await trace(path, own)
    assert (repeat.row.sighting_of, repeat.repeated_layer) == (first, Layer.WORKING)
    told = await trace(path, first)
    assert told.repeated_layer is None
    again = {sighting.id: sighting.corroborates for sighting in told.row.sightings or ()}
    assert again == {own: False, other: True}


def test_reasons_name_checks_in_the_language_and_show_what_is_hidden() -> None:
    after = Verdict(
        check="echo", outcome=Outcome.NOT_CHECKED, reason="verdict_after", params={"after": "self_consistency"}
    )
    assert (
        write_reason(VerdictView.from_record(after, "en"))
        == "Not checked, because an earlier check failed: self-consistency."
    )
    assert "自洽性" in write_reason(VerdictView.from_record(after, "zh"))
    stated = Verdict(check="confidence", outcome=Outcome.FAIL, reason="verdict_confidence_no_number", value="a\u200bb")
    assert "a⟦U+200B⟧b" in write_reason(VerdictView.from_record(stated, "zh"))
    assert [write_value(value) for value in (None, True, 50, 0.5, "a\u202eb")] == [
        "–",
        "true",
        "50",
        "0.5",
        "a⟦U+202E⟧b",
    ]


def test_a_flag_that_has_no_words_yet_is_named_by_its_code() -> None:
    assert name_flag("conflict", Terminal("zh")) == "冲突"
    assert name_flag("newer_than_this", Terminal("zh")) == "newer_than_this"


def test_text_is_shortened_by_what_it_takes_on_the_screen() -> None:
    assert shorten("one\n two\tthree", 40) == "one two three"
    assert shorten("支付网关的超时阈值", 9) == "支付网关…"


def test_the_time_left_is_in_the_largest_unit_that_fits() -> None:
    now = datetime.now(UTC)
    left = [Terminal("en").time_left(now + timedelta(seconds=seconds)) for seconds in (-5, 30, 90, 3700, 90000)]
    assert left == ["less than a minute left"] * 2 + ["1 min left", "1 h left", "1 d left"]


async def test_an_output_that_is_too_long_to_be_segmented_says_where_that_ends(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = Path()
    long = "\n\n".join(f"The pump number {number} was replaced in May." for number in range(MAX_SEGMENTS + 50))
    row = (await trace(path, await captured(path, said(long)))).row
    assert row.statements is not None
    assert row.unsegmented_from == row.statements[-1].span.end < len(long)
    for terminal, words in ((Terminal("en"), "is too long"), (Terminal("zh"), "产出过长")):
        show_statements(row, terminal)
        assert words in capsys.readouterr().out
    whole = (await trace(path, await captured(path, said("The pump in Lyon was replaced in June.")))).row
    assert whole.unsegmented_from is None


@pytest.mark.parametrize(
    ("segmented_by", "problem", "said_en", "said_zh"),
    [
        ("rules", None, "", ""),
        ("qwen3", None, "Found by the digest model qwen3", "由简报模型 qwen3 找出"),
        ("rules", "writer_nonsense", "(writer_nonsense)", "（writer_nonsense）"),
    ],
)
async def test_what_found_the_statements_is_named(
    capsys: pytest.CaptureFixture[str], segmented_by: str, problem: str | None, said_en: str, said_zh: str
) -> None:
    path = Path()
    row = (await trace(path, await captured(path, said()))).row
    row = row.model_copy(update={"segmented_by": segmented_by, "segmenter_problem": problem})
    for terminal, words in ((Terminal("en"), said_en), (Terminal("zh"), said_zh)):
        show_statements(row, terminal)
        printed = capsys.readouterr().out
        assert words in printed
        assert ("digest model" in printed or "简报模型" in printed) is bool(words)


def test_checks_that_were_not_run_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    failed = Verdict(check="echo", outcome=Outcome.FAIL, reason="verdict_confidence_no_number", value="a")
    later = [
        Verdict(check=check, outcome=Outcome.NOT_CHECKED, reason="verdict_after", params={"after": "echo"})
        for check in ("non_duplicate", "self_consistency")
    ]
    show_verdicts([VerdictView.from_record(one, "en") for one in (failed, *later)], Terminal("en"))
    shown = capsys.readouterr().out
    assert "Not run, because echo failed: non-duplicate, self-consistency.\n" in shown
    assert shown.count("self-consistency") == 1
    show_verdicts([VerdictView.from_record(one, "zh") for one in later], Terminal("zh"))
    assert "复述未通过，以下检查未运行：去重、自洽性。" in capsys.readouterr().out
