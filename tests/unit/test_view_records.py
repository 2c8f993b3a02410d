"""A record that becomes a view, JSON, the view again and a record is the same, except what never leaves the server."""

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from itertools import count
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import numpy as np
import pytest

from clearwell import records
from clearwell.records import (
    AcceptRate,
    Agent,
    BuiltContext,
    CalibrationRow,
    CaptureReceipt,
    ContextItem,
    Contradiction,
    Decision,
    DecisionResult,
    Digest,
    Dossier,
    DryRun,
    Explanation,
    Group,
    IngressCount,
    Insight,
    InsightSource,
    Memory,
    NearbyMemory,
    NewMemory,
    NodeRun,
    Note,
    Promotion,
    PromotionResult,
    PromotionState,
    Provenance,
    QuarantineRow,
    Requeued,
    RetractionPreview,
    Retrieval,
    ReviewStatistics,
    Statement,
    Tombstone,
    Verdict,
    WorkingEntry,
)
from clearwell.views.captures import CaptureView, DryRunView, IngressCountView, QuarantineRowView, RequeuedView
from clearwell.views.context import ContextView, NodeRunView
from clearwell.views.decisions import DecisionResultView, DecisionView
from clearwell.views.digests import DigestSummaryView, DigestView
from clearwell.views.dossiers import DossierView
from clearwell.views.groups import AgentView, GroupView, TombstoneView
from clearwell.views.insights import InsightView
from clearwell.views.memories import IngestedView, PromotionResultView, RetrievalView, WorkingEntryView
from clearwell.views.provenance import ProvenanceView, RetractionPreviewView
from clearwell.views.statistics import CalibrationRowView, ReviewStatisticsView
from clearwell.views.view import View

NOW = datetime(2026, 11, 16, 8, 30, tzinfo=UTC)
KEYS = {"text 1": "Ann"}
UNCARRIED: Mapping[type, Mapping[str, str]] = {
    CaptureReceipt: {"replayed": "a header says it; the client repeats requests itself"},
    PromotionResult: {"recorded": "for adapters that count decisions", "replayed": "as for captures"},
    DecisionResult: {"replayed": "as for captures"},
    WorkingEntry: {
        "embedding": "vectors stay on the server",
        "embedding_model": "as its vector",
        "statements": "only their vectors matter, for comparison",
        "promoted_at": "an entry is not promoted",
        "verified": "an entry is not verified",
    },
    records.Capture: {
        "embedding": "vectors stay on the server",
        "expires_at": "a row does not expire",
        "verified": "a row is not verified",
        "promoted_at": "a row is not promoted",
    },
    Statement: {"embedding": "vectors stay on the server", "embedding_model": "as its vector"},
    Insight: {"embedding": "vectors stay on the server", "embedding_model": "as its vector"},
    Memory: {
        "embedding": "vectors stay on the server",
        "expires_at": "a memory does not expire",
        "valid_to": "similar memories are valid ones",
    },
    Decision: {"writer_before": "for undo", "before": "for undo"},
    NewMemory: {"acknowledge": "said with a request, and not stored", "keep_invisible": "as acknowledge"},
    Promotion: {"fingerprint": "to recognise the text again"},
}
"""The fields of records that views do not carry, with the reason. In a record from a client they have their default."""

CODES: Mapping[tuple[type, str], object] = {
    (Verdict, "reason"): "confidence_low",
    (Verdict, "check"): "confidence",
    (Contradiction, "reason"): "same_text",
    (Note, "code"): "same_text",
    (Digest, "note"): "same_text",
    (NearbyMemory, "reason"): "same_text",
    (PromotionState, "problem"): "promotion_tombstoned",
}
"""Values of fields that are no free text."""


class Samples:
    """Makes records in which every field has a value of its own that is not its default."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def make(self, kind: Any, **chosen: object) -> Any:
        hints = get_type_hints(kind, localns=vars(records))
        values = dict(chosen)
        for field in fields(kind):
            if field.name in values or not field.init:
                continue
            if field.name in UNCARRIED.get(kind, {}):
                continue
            if (kind, field.name) in CODES:
                values[field.name] = CODES[kind, field.name]
            elif field.name == "layer" and field.default is not MISSING:
                continue
            else:
                values[field.name] = self.value(hints[field.name])
        return kind(**values)

    def value(self, kind: Any) -> object:
        number = next(self._numbers)
        origin, inner = get_origin(kind), get_args(kind)
        if kind is bool:
            return True
        if origin in (Union, types.UnionType):
            return 0.5 if float in inner and dict[str, records.Json] in inner else self.value(inner[0])
        if origin is Literal:
            return inner[-1]
        if origin is tuple and inner[-1:] != (...,):
            return tuple(self.value(one) for one in inner)
        if origin in (tuple, Sequence):
            return (self.value(inner[0]),)
        if origin is dict and inner == (UUID, tuple[Verdict, ...]):
            return {}
        if origin in (dict, Mapping):
            return {f"name {number}": number}
        if kind is datetime:
            return NOW + timedelta(seconds=number)
        if kind is np.ndarray or origin is np.ndarray:
            return np.zeros(2, np.float32)
        if isinstance(kind, type) and issubclass(kind, Enum):
            return list(kind)[-1]
        simple: Mapping[object, object] = {
            UUID: UUID(int=number),
            str: f"text {number}",
            int: number,
            float: number / 8,
            bytes: bytes([number % 256]),
            object: number,
        }
        return simple[kind] if kind in simple else self.make(kind)


def make_promotion(samples: Samples) -> PromotionState:
    text = samples.make(NewMemory)
    promotion = samples.make(Promotion, text=text, supersedes=text.supersedes)
    return samples.make(PromotionState, promotion=promotion, chunks=promotion.chunks)  # type: ignore[no-any-return]


def make_insight(samples: Samples, *, verdicts: bool = False) -> Insight:
    source = samples.make(InsightSource)
    insight: Insight = samples.make(Insight, sources=(source if verdicts else replace(source, verdicts=()),))
    return replace(insight, summary=" ".join(sentence.text for sentence in insight.sentences))


def make_row(samples: Samples) -> QuarantineRow:
    row: QuarantineRow = samples.make(QuarantineRow)
    statement = samples.make(Statement, log_id=row.capture.id, number=0)
    return replace(row, statements=(statement,))


def make_dossier(samples: Samples) -> Dossier:
    insight = make_insight(samples, verdicts=True)
    verdicts = {source.log_id: source.verdicts for source in insight.sources}
    promotion = make_promotion(samples)
    return samples.make(Dossier, insight=insight, verdicts=verdicts, flags=insight.flags, promotion=promotion)  # type: ignore[no-any-return]


def make_statistics(samples: Samples) -> ReviewStatistics:
    by_check = samples.make(AcceptRate, by="length:fail")
    accepted = samples.make(AcceptRate, by=None)
    return samples.make(ReviewStatistics, by_check=(by_check,), accepted=accepted)  # type: ignore[no-any-return]


def make_provenance(samples: Samples) -> Provenance:
    parts = {
        "promotions": (make_promotion(samples),),
        "insights": (make_insight(samples),),
        "rows": (make_row(samples),),
    }
    return samples.make(Provenance, **parts)  # type: ignore[no-any-return]


def make_preview(samples: Samples) -> RetractionPreview:
    dependent = samples.make(records.DependentMemory, state=make_promotion(samples))
    return samples.make(RetractionPreview, memories=(dependent,))  # type: ignore[no-any-return]


def of(kind: type) -> Callable[[Samples], Any]:
    return lambda samples: samples.make(kind)


def finished(samples: Samples) -> Digest:
    status = records.DigestStatus.DONE
    return samples.make(Digest, status=status, insights=(make_insight(samples, verdicts=True),))  # type: ignore[no-any-return]


Write = Callable[[Any], View]
CASES: Sequence[tuple[type[View], Callable[[Samples], Any], Write]] = [
    (CaptureView, of(CaptureReceipt), lambda record: CaptureView.from_record(record, "zh")),
    (DryRunView, of(DryRun), lambda record: DryRunView.from_record(replace(record, flags=("conflict",)), "en")),
    (IngressCountView, of(IngressCount), IngressCountView.read),
    (QuarantineRowView, make_row, lambda record: QuarantineRowView.from_record(record, "zh")),
    (RequeuedView, of(Requeued), RequeuedView.from_record),
    (WorkingEntryView, of(WorkingEntry), lambda record: WorkingEntryView.from_record(record, NOW, "en")),
    (PromotionResultView, of(PromotionResult), PromotionResultView.from_record),
    (IngestedView, of(PromotionResult), IngestedView.from_record),
    (RetrievalView, of(Retrieval), lambda record: RetrievalView.from_record(record, "zh")),
    (ContextView, of(BuiltContext), lambda record: ContextView.from_record(record, "en")),
    (NodeRunView, of(NodeRun), NodeRunView.from_record),
    (GroupView, of(Group), GroupView.from_record),
    (AgentView, of(Agent), AgentView.from_record),
    (TombstoneView, of(Tombstone), lambda record: TombstoneView.from_record(record, KEYS)),
    (InsightView, make_insight, lambda record: InsightView.from_record(record, "en")),
    (DigestView, finished, lambda record: DigestView.from_record(record, "zh")),
    (DecisionView, of(Decision), lambda record: DecisionView.from_record(record, KEYS)),
    (DecisionResultView, of(DecisionResult), DecisionResultView.from_record),
    (ProvenanceView, make_provenance, lambda record: ProvenanceView.from_record(UUID(int=1), record, "en", KEYS)),
    (RetractionPreviewView, make_preview, lambda record: RetractionPreviewView.from_record(record, "en", KEYS)),
    (CalibrationRowView, of(CalibrationRow), CalibrationRowView.from_record),
    (ReviewStatisticsView, make_statistics, ReviewStatisticsView.from_record),
]


@pytest.mark.parametrize(("view", "make", "write"), CASES, ids=[view.__name__ for view, _, _ in CASES])
def test_a_record_survives_its_way_over_http(view: Any, make: Callable[[Samples], Any], write: Write) -> None:
    record = make(Samples())
    again = view.model_validate_json(write(record).model_dump_json()).to_record()
    assert type(again) is type(record)
    if isinstance(record, DryRun):
        record = replace(record, flags=("conflict",))
    assert again == record


def test_a_dossier_survives_its_way_over_http() -> None:
    dossier = make_dossier(Samples())
    written = DossierView.from_dossier(dossier, "en", KEYS).model_dump_json()
    assert DossierView.model_validate_json(written).to_dossier() == dossier


def test_a_digest_without_insights_survives_its_way_over_http() -> None:
    digest = Samples().make(Digest, insights=())
    written = DigestSummaryView.from_record(digest, "en").model_dump_json()
    assert DigestSummaryView.model_validate_json(written).to_record() == digest


def test_what_is_not_there_stays_not_there() -> None:
    item = replace(Samples().make(ContextItem), explanation=None, match=None, relevance=None)
    retrieval = Retrieval(items=(item, replace(item, explanation=Explanation(cosine=None, words=0.5))))
    view = RetrievalView.model_validate_json(RetrievalView.from_record(retrieval, "en").model_dump_json())
    assert view.to_record() == retrieval
    row = replace(make_row(Samples()), sightings=None, statements=None, sighting_of=None)
    assert QuarantineRowView.from_record(row, "en").to_record() == row
