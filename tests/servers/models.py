"""Models that know the labelled cases, or do not: behaviours of the embedding and chat servers."""

import json
from collections.abc import Callable, Mapping

import numpy as np

from clearwell.evaluation.cases import (
    CaseKind,
    EmbedderCase,
    JudgeCase,
    OutputFault,
    WriterCase,
    load_embedder_cases,
    load_judge_cases,
    load_writer_cases,
)
from clearwell.models.quotation import quote
from tests.servers.chat_api import SOUND, TORN, completion
from tests.servers.embedding_api import embeddings
from tests.servers.scripted import Behaviour, Reply, Request, answer

NEARNESS = {CaseKind.TEXT: 1.0, CaseKind.PARAPHRASE: 0.95, CaseKind.CONFLICT: 0.97, CaseKind.NEAR: 0.5}
QUESTION_NEARNESS = 0.6
CHAT_TOKENS = {"prompt_tokens": 400, "completion_tokens": 50, "total_tokens": 450}


def knowing_embedder(crowded: float = 0.0) -> Behaviour:
    """Puts each statement as near to its text as it should be. Crowded, all vectors share one direction."""
    vectors: dict[str, list[float]] = {}
    cases = load_embedder_cases()
    for number, case in enumerate(cases):
        for place, (text, nearness) in enumerate(_list_nearness(case)):
            vector = np.zeros(1 + 6 * len(cases))
            vector[1 + 6 * number] = nearness
            vector[2 + 6 * number + place] = (1 - nearness**2) ** 0.5
            vector[0] = crowded
            vectors[text] = vector.tolist()
    other = [0.0] * (6 * len(cases)) + [1.0]
    return lambda request: with_usage(
        embeddings(*(vectors.get(text, other) for text in request.body["input"])),
        {"prompt_tokens": 7 * len(request.body["input"]), "total_tokens": 7 * len(request.body["input"])},
    )


def _list_nearness(case: EmbedderCase) -> list[tuple[str, float]]:
    return [*((case.statement(kind), NEARNESS[kind]) for kind in CaseKind), (case.question, QUESTION_NEARNESS)]


def knowing_judge(request: Request) -> Reply:
    case = find_judge_case(request)
    return with_usage(completion(json.dumps(SOUND if case.fault is OutputFault.NONE else TORN)), CHAT_TOKENS)


def find_judge_case(request: Request) -> JudgeCase:
    return next(case for case in load_judge_cases() if quote(case.text) in _asked(request))


def writer_of(text_of: Callable[[WriterCase], str], *, disputes: bool = True) -> Behaviour:
    """Writes one sentence that cites all sources, and reports the disputes that it was asked about."""

    def write(request: Request) -> Reply:
        case = find_writer_case(request)
        every = list(range(1, len(case.sources) + 1))
        disputed = [{"sides": [every[:1], every[1:2]], "why": "two values"}] if case.disputed and disputes else []
        said = {
            "sentences": [{"text": text_of(case), "sources": every}],
            "statements": [],
            "contradictions": disputed,
        }
        return with_usage(completion(json.dumps(said, ensure_ascii=False)), CHAT_TOKENS)

    return write


def find_writer_case(request: Request) -> WriterCase:
    return next(case for case in load_writer_cases() if quote(case.sources[0]) in _asked(request))


def with_usage(reply: Reply, usage: Mapping[str, int]) -> Reply:
    return answer({**json.loads(reply.body), "usage": dict(usage)})


def _asked(request: Request) -> str:
    return str(request.body["messages"][-1]["content"])
