"""Views: what an answer holds, what it leaves out, and that a client reads the same answer back."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from clearwell.demo.steps import RecallStep
from clearwell.errors import ClearwellError, Conflict, Flaw, InvalidInput, NotFound, WrongStructure
from clearwell.messages import Language
from clearwell.records import (
    Action,
    Admission,
    BuiltContext,
    CaptureReceipt,
    ContextItem,
    ContextReport,
    Contradiction,
    DecisionResult,
    Digest,
    DigestStatus,
    Dossier,
    Group,
    IngressCount,
    Insight,
    InsightSide,
    InsightSource,
    InsightState,
    InsightStatus,
    Label,
    Layer,
    Outcome,
    PromotionResult,
    PromptMessage,
    Retrieval,
    Scope,
    Source,
    Support,
    Verdict,
    Writer,
)
from clearwell.views.captures import CaptureBatchView, CaptureView, IngressCountsView
from clearwell.views.context import ContextView
from clearwell.views.decisions import DecisionResultView
from clearwell.views.digests import DigestView
from clearwell.views.dossiers import DossierView
from clearwell.views.groups import GroupView
from clearwell.views.insights import InsightView
from clearwell.views.memories import IngestedBatchView, RetrievalView
from clearwell.views.problems import ProblemView
from clearwell.views.view import View

NOW = datetime(2026, 11, 16, 8, 30, tzinfo=UTC)
VERDICT = Verdict(check="confidence", outcome=Outcome.FAIL, reason="confidence_low", value=0.5, threshold=0.8)
RECEIPT = CaptureReceipt(id=UUID(int=1), group_id="g", admission=Admission.REFUSED, verdicts=(VERDICT,))
ITEM = ContextItem(
    content="Backups are kept for thirty days.",
    source=Source.COLD,
    score=0.75,
    id=UUID(int=2),
    group_id="g",
    layer=Layer.LONGTERM,
    label=Label.VERIFIED,
    verified=True,
    relevance=0.5,
    scope=Scope.GROUP,
    session_id=None,
    agent_id=None,
    author="Ann",
    occurred_at=None,
    created_at=NOW,
    expires_at=None,
    promoted_at=NOW,
    chunk_no=0,
    metadata={"深": [1, None, {"large": 10**400}]},
)
SOURCE = InsightSource(
    log_id=UUID(int=3),
    agent_id="a",
    session_id=None,
    node_id=None,
    node_type="agent",
    occurred_at=NOW,
    confidence=0.9,
    admission=Admission.ADMITTED,
    content="hid\u200bden",
    verdicts=(VERDICT,),
)
INSIGHT = Insight(
    id=UUID(int=4),
    group_id="g",
    digest_id=UUID(int=5),
    version=1,
    state=InsightState.PENDING,
    summary="hid\u200bden",
    written_by=Writer.EXTRACTIVE,
    sources=(SOURCE,),
    contradictions=(Contradiction(of=UUID(int=3), against=UUID(int=2), layer=Layer.LONGTERM, reason="unknown"),),
    flags=("single_author", "flag_of_a_newer_version"),
    support=Support(agents=1, rows=1),
    score=0.123456,
    created_at=NOW,
    changed_at=NOW,
)
DIGEST = Digest(
    id=UUID(int=5),
    group_id="g",
    status=DigestStatus.DONE,
    requested_by="local",
    created_at=NOW,
    progress=0.123456,
    insights=(INSIGHT,),
)
STATUS = InsightStatus(id=UUID(int=4), version=2, state=InsightState.PROMOTED, changed_at=NOW)
DECIDED = DecisionResult(status="promoted", id=UUID(int=2), chunks=0, undone=Action.UNDO, insight=STATUS)
BUILT = BuiltContext(
    text="the context",
    messages=(PromptMessage(role="system", content="the context"),),
    report=ContextReport(max_tokens=10, tokens=2, sections=()),
)


def written(view: View) -> Any:
    return json.loads(view.model_dump_json())


def retrieval(language: Language = "en") -> RetrievalView:
    return RetrievalView.from_record(Retrieval(items=(ITEM,)), language)


@pytest.mark.parametrize(
    "view",
    [
        CaptureView.from_record(RECEIPT, "zh"),
        CaptureBatchView.from_records([RECEIPT, InvalidInput("text_blank", field="content")], "en"),
        retrieval(),
        InsightView.from_record(INSIGHT, "en"),
        DossierView.from_dossier(Dossier(insight=INSIGHT, verdicts={}), "zh", {}),
        DigestView.from_record(DIGEST, "en"),
        DecisionResultView.from_record(DECIDED),
        ContextView.from_record(BUILT, "en", messages=False),
        ProblemView.from_error(WrongStructure([Flaw("http_field_text", "query")]), "zh"),
    ],
    ids=lambda view: type(view).__name__,
)
def test_a_client_reads_the_same_answer_back(view: View) -> None:
    assert type(view).model_validate_json(view.model_dump_json()) == view


def test_labels_reasons_and_problems_are_in_the_readers_language() -> None:
    assert [retrieval(language).results[0].label_text for language in ("en", "zh")] == ["✅ Verified", "✅ 已验证"]
    reasons = [CaptureView.from_record(RECEIPT, language).verdicts[0].reason for language in ("en", "zh")]
    assert reasons == [VERDICT.explanation("en"), VERDICT.explanation("zh")]
    problems = [ProblemView.from_error(InvalidInput("text_blank", field="content"), one) for one in ("en", "zh")]
    assert [problem.detail for problem in problems] == [
        "content is empty or contains only white space.",
        "content 为空或只有空白字符。",
    ]
    assert problems[0].type == problems[1].type == "urn:clearwell:problem:text_blank"


def test_numbers_and_times_are_written_as_they_are() -> None:
    (memory,) = written(retrieval())["results"]
    assert memory["metadata"] == {"深": [1, None, {"large": 10**400}]}
    assert (memory["created_at"], memory["occurred_at"]) == ("2026-11-16T08:30:00Z", None)
    decided = written(DecisionResultView.from_record(DECIDED))
    assert decided["insight"]["changed_at"] == "2026-11-16T08:30:00+00:00"


def test_a_decision_names_only_what_it_led_to() -> None:
    assert list(written(DecisionResultView.from_record(DECIDED))) == [
        "status",
        "id",
        "already",
        "chunks",
        "undone",
        "insight",
    ]
    retracted = DecisionResult(status="retracted", id=UUID(int=1), memories=(UUID(int=2),))
    assert list(written(DecisionResultView.from_record(retracted))) == ["status", "id", "already", "memories"]


def test_a_context_holds_only_the_forms_that_were_asked_for() -> None:
    texts = [
        list(written(ContextView.from_record(BUILT, "en", text=text, messages=messages)))
        for text, messages in ((True, True), (True, False), (False, True))
    ]
    assert texts == [
        ["text", "messages", "report", "degraded"],
        ["text", "report", "degraded"],
        ["messages", "report", "degraded"],
    ]


def test_a_digest_shows_its_insights_once_it_is_done() -> None:
    done = written(DigestView.from_record(DIGEST, "en"))
    assert (done["progress"], done["insights"][0]["score"]) == (0.1235, 0.1235)
    running = replace(DIGEST, status=DigestStatus.RUNNING, finished_at=None)
    assert "insights" not in written(DigestView.from_record(running, "en"))


def test_hidden_characters_are_written_out_beside_the_content() -> None:
    insight = written(InsightView.from_record(INSIGHT, "en"))
    assert (insight["summary"], insight["summary_shown"]) == ("hid\u200bden", "hid⟦U+200B⟧den")
    assert insight["sources"][0]["content_shown"] == "hid⟦U+200B⟧den"


def test_an_insight_shows_its_sides_and_where_each_statement_stands() -> None:
    source = replace(SOURCE, statement="hid", number=2, span=(0, 3), side=0)
    side = InsightSide(statement="hid\u200bden", log_ids=(source.log_id,), support=Support(agents=1, rows=1))
    insight = written(InsightView.from_record(replace(INSIGHT, sources=(source,), sides=(side,)), "en"))
    assert insight["sides"][0]["statement_shown"] == "hid⟦U+200B⟧den"
    assert insight["sides"][0]["sources"] == [str(source.log_id)]
    shown = insight["sources"][0]
    assert (shown["statement"], shown["span"], shown["side"]) == ("hid", {"start": 0, "end": 3}, 0)


def test_verdicts_of_sources_are_shown_with_one_insight_and_left_out_of_lists() -> None:
    assert "verdicts" not in written(InsightView.from_record(INSIGHT, "en"))["sources"][0]
    shown: dict[UUID, tuple[Verdict, ...]] = {UUID(int=3): (VERDICT,)}
    for verdicts, count in ((shown, 1), ({}, 0)):
        dossier = DossierView.from_dossier(Dossier(insight=INSIGHT, verdicts=verdicts), "en", {})
        assert len(written(dossier)["sources"][0]["verdicts"]) == count


def test_a_flag_without_a_sentence_is_named_all_the_same() -> None:
    insight = InsightView.from_record(INSIGHT, "en")
    assert insight.flags == INSIGHT.flags
    assert [flag.flag for flag in insight.flags_said] == ["single_author"]


@pytest.mark.parametrize(
    ("error", "status", "names"),
    [
        (InvalidInput("id_long", field="group_id", limit=200, length=201), 422, ["field", "limit"]),
        (InvalidInput("text_blank", field="content"), 422, ["field"]),
        (NotFound("row_not_found", id=UUID(int=1), group="g"), 404, []),
        (Conflict("retract_nothing", current={"version": 2}), 409, ["current"]),
        (WrongStructure([Flaw("http_field_text", "query")] * 30), 422, ["field", "errors"]),
        (ClearwellError("something_else"), 500, []),
    ],
)
def test_a_problem_holds_what_its_error_knows(error: ClearwellError, status: int, names: list[str]) -> None:
    problem = written(ProblemView.from_error(error, "en"))
    assert problem["status"] == status
    assert list(problem) == ["type", "title", "status", "detail", *names]
    assert len(problem.get("errors", [])) <= 20


@pytest.mark.parametrize(
    ("results", "status"),
    [
        ([PromotionResult(id=UUID(int=1), promotion_id=UUID(int=2), chunks=1)], "ingested"),
        ([PromotionResult(id=UUID(int=1), promotion_id=UUID(int=2), chunks=0, waiting=True)], "promoting"),
        ([InvalidInput("text_blank", field="content")], "refused"),
    ],
)
def test_a_batch_says_in_one_word_what_became_of_it(
    results: list[PromotionResult | ClearwellError], status: str
) -> None:
    assert IngestedBatchView.from_records(results, "en").status == status


def test_a_view_needs_every_attribute_of_its_record() -> None:
    class WiderGroupView(GroupView):
        members: int

    with pytest.raises(AttributeError, match="members"):
        WiderGroupView.from_record(Group(group_id="g", created_at=NOW - timedelta(days=1)))


def test_what_is_not_installed_has_a_title_of_its_own() -> None:
    problem = ProblemView.from_error(ClearwellError("mcp_not_installed"), "en", status=501)
    assert problem.title == "Not installed"


def test_the_demo_shows_a_recalled_memory_as_a_person_reads_it() -> None:
    item = '1. [⚡️ Unverified] <memory id="01a1eca1-6234-727f-a2f5-5a993a8068cb">{}</memory>'
    fenced = "The claim &lt;claim&gt;a &amp;lt; b&lt;/claim&gt; is supported."
    step = RecallStep.read_history("s1", item.format(fenced), None)
    assert [one.text for one in step.memories] == ["The claim “a &lt; b” is supported."]


def test_counts_of_checks_have_their_totals() -> None:
    rows = [
        IngressCount(agent_id="a1", check="length", outcome=Outcome.PASS, count=4),
        IngressCount(agent_id="a2", check="length", outcome=Outcome.FAIL, count=2),
        IngressCount(agent_id="a1", check="echo", outcome=Outcome.FAIL, count=3),
        IngressCount(agent_id="a1", check="echo", outcome=Outcome.PASS, count=1),
    ]
    view = IngressCountsView.from_records(rows)
    assert (view.checked, view.refused, list(view.refused_by.items())) == (6, 5, [("echo", 3), ("length", 2)])
    assert IngressCountsView.from_records([]).checked == 0
