"""What a reviewer reads of an insight: which sources its sentences cite, what is to be said of it, what is near it."""

from dataclasses import replace

import pytest

from clearwell.adapters.cli.digests import show_insight
from clearwell.adapters.cli.dossier import show_dossier, show_insights
from clearwell.adapters.cli.terminal import Terminal
from clearwell.errors import WriterUnavailable
from clearwell.messages import Language
from clearwell.records import Contradiction, Dossier, Layer
from clearwell.views.dossiers import DossierView
from clearwell.views.insights import DigestInsightView, InsightView
from tests.path import Path
from tests.unit.test_digesting import GATEWAY, ScriptedWriter, agreed, each_alone, keep, made, says


async def first(path: Path) -> Dossier:
    await keep(path, *agreed(GATEWAY))
    (insight, *_) = (await made(path)).insights
    return await path.review.insight(insight.id, group="g")


def show(dossier: Dossier, language: Language) -> None:
    show_dossier(DossierView.from_dossier(dossier, language, {}), Terminal(language))


async def test_a_models_sentences_are_shown_with_what_they_cite(capsys: pytest.CaptureFixture[str]) -> None:
    found = await first(Path(writer=ScriptedWriter(["The gateway must be scaled up."])))
    show(found, "en")
    shown = capsys.readouterr().out
    assert "    “The gateway must be scaled up.” cites sources: 1\n" in shown
    assert f"      {GATEWAY[:60]}" in shown
    assert "Our own measurement" not in shown
    show_insight(1, DigestInsightView.from_record(found.insight, "en"), Terminal("en"))
    again = capsys.readouterr().out
    assert "“The gateway must be scaled up.” cites sources: 1" in again
    assert "     [1] " in again
    told = DossierView.from_dossier(found, "en", {}).model_dump(mode="json")
    source = str(found.insight.sources[0].log_id)
    assert told["sentences"] == [{"text": "The gateway must be scaled up.", "sources": [source]}]


async def test_the_sides_of_a_dispute_are_shown_with_their_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path()
    price = "The licence of the map server in Bergen costs {} euros a year, says the contract."
    rows = [says(price.format(amount), f"a{at}") for at, amount in enumerate((400, 400, 950))]
    await keep(path, *rows)
    (insight,) = (await made(path)).insights
    found = await path.review.insight(insight.id, group="g")
    show(found, "en")
    shown = capsys.readouterr().out
    assert f"1. {price.format(400)[:50]}" in shown
    assert f"2. {price.format(950)[:50]}" in shown
    assert "(2 agents, 2 sources)" in " ".join(shown.split())
    assert "[side 2] The licence" in shown
    show_insights([InsightView.from_record(found.insight, "zh")], Terminal("zh"))
    assert "（1 个智能体，1 条来源）" in "".join(capsys.readouterr().out.split("\n"))


async def test_a_reviewer_is_told_why_an_insight_is_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    down = WriterUnavailable("writer_unreachable", where="api", said="refused")
    found = await first(Path(writer=ScriptedWriter([down])))
    show(found, "en")
    shown = capsys.readouterr().out
    assert "could not be reached (refused)" in shown
    assert "cites sources" not in shown, "the headline is the statement of a source"
    assert "self-consistency not checked" not in shown.partition("Sources:")[0]
    answer = DossierView.from_dossier(found, "en", {})
    assert [note.code for note in answer.notes] == ["insight_quoted_instead"]
    assert answer.sentences[0].text == GATEWAY


async def test_chinese_pages_are_set_in_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    found = await first(Path(writer=ScriptedWriter(["支付网关必须扩容。"])))
    show(found, "zh")
    shown = capsys.readouterr().out
    assert "待审核：洞察 00000008，版本 1" in shown
    assert ": " not in shown


async def test_what_a_person_rewrote_cites_nothing() -> None:
    found = await first(Path(writer=ScriptedWriter(["The gateway must be scaled up."])))
    assert [one.text for one in found.insight.cited] == ["The gateway must be scaled up."]
    assert replace(found.insight, summary="It must grow.").cited == ()


async def test_a_contradiction_that_only_the_model_saw_is_flagged() -> None:
    writer = ScriptedWriter(["The gateway must be scaled up."], sides=each_alone)
    found = await first(Path(writer=writer))
    assert [one.reason for one in found.insight.contradictions] == ["contradiction_by_model"]
    assert "contradiction" in found.insight.flags


async def test_only_what_is_near_is_shown_as_near_and_quotation_marks_are_no_difference(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = Path()
    await path.memory.promote("Lunch is at noon.", group="g")
    await path.memory.promote(GATEWAY.replace("five", "six"), group="g")
    found = await first(path)
    assert [one.relation for one in found.nearby] == ["contradicts"]
    show(found, "en")
    shown = capsys.readouterr().out
    assert "[-six-]{+five+}" in shown
    assert "{+“+}" not in shown


async def test_only_sources_on_other_sides_are_opposed(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path()
    price = "The licence of the map server in Bergen costs {} euros a year, says the contract."
    await keep(path, *(says(price.format(amount), f"a{at}") for at, amount in enumerate((400, 400, 950))))
    (insight,) = (await made(path)).insights
    show_insights([InsightView.from_record(insight, "en")], Terminal("en"))
    shown = capsys.readouterr().out
    assert "3 outputs, 3 agents, 3 sessions, 1 day · 1 of them opposed · " in shown
    assert "not counted" not in shown


async def test_a_source_that_repeats_the_claim_is_not_opposed(capsys: pytest.CaptureFixture[str]) -> None:
    found = await first(Path())
    support = replace(found.insight.support, rows=len(found.insight.sources) - 1)
    insight = replace(found.insight, support=support)
    show_insights([InsightView.from_record(insight, "en")], Terminal("en"))
    shown = capsys.readouterr().out
    assert f"{support.rows} output, {support.agents} agents" in shown
    assert " · 1 more source, not counted as a voice · " in shown
    assert "opposed" not in shown
    show_insights([InsightView.from_record(insight, "zh")], Terminal("zh"))
    shown = capsys.readouterr().out
    assert "另有 1 条来源不计入支持" in shown
    assert "反对" not in shown


async def test_a_memory_that_the_digest_found_disputed_contradicts() -> None:
    path = Path()
    memory = await path.memory.promote(
        "The payment gateway in Oslo must be replaced before the audit of concurrent requests.", group="g"
    )
    found = await first(path)
    assert [one.relation for one in found.nearby] == ["near"]
    against = Contradiction(
        of=found.insight.sources[0].log_id,
        against=memory.id,
        layer=Layer.LONGTERM,
        reason="conflict_number",
        params={"new": "five", "known": "six"},
    )
    path.ledger.put(replace(found.insight, contradictions=(against,)))
    shown = DossierView.from_dossier(await path.review.insight(found.insight.id, group="g"), "en", {})
    assert [(one.relation, one.why) for one in shown.nearby] == [("contradicts", against.explanation("en"))]
    assert [one.id for one in shown.contradicts] == [memory.id]
