"""The models: embedding, chat, the judge of outputs, and the assessor of evidence."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from clearwell.records import Assessment, Evidence, FactCheckMethod, FoundStatement, Json, Judgement, TokenUsage, Vector


class Embedder(Protocol):
    """Turns texts into unit vectors, and calibrates their cosine."""

    @property
    def model(self) -> str:
        """The name that is stored with each vector. It is unique for each model."""
        ...

    async def load(self) -> None:
        """Load the model if it runs in this process. An API is not called."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector for each text. Raises EmbedderUnavailable."""
        ...

    def similarity(self, cosine: float) -> float:
        """Return the similarity of two texts from 0 to 1, on the scale of the thresholds."""
        ...

    def relevance(self, cosine: float) -> float:
        """Return the relevance of a text to a query from 0 to 1, on the scale of the thresholds."""
        ...

    async def close(self) -> None: ...


class TokenCounter(Protocol):
    """Counts the tokens of a text."""

    def count(self, text: str) -> int: ...


class TokenMeter(Protocol):
    """Receives the tokens that an API reports for each request."""

    def record(self, usage: TokenUsage) -> None: ...


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message to a language model."""

    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerForm:
    """The required form of an answer. The last message ends with ``in_json``, or with ``in_words`` if the server does
    not support schemas.

    ``is_in_words`` recognises an answer in words. If the request for JSON gets one, it is asked again in words.
    """

    name: str
    schema: Mapping[str, Json]
    in_json: str
    in_words: str
    is_in_words: Callable[[str], bool] | None = None


class ChatModel(Protocol):
    """A language model."""

    @property
    def model(self) -> str: ...

    async def complete(self, messages: Sequence[ChatMessage], *, form: AnswerForm | None = None) -> str:
        """Return the complete, unchecked answer, in one attempt. Raises JudgeUnavailable."""
        ...

    async def close(self) -> None: ...


class Judge(Protocol):
    """Decides whether a text contradicts itself or is obviously made up."""

    @property
    def model(self) -> str:
        """The name that is recorded with each judgement."""
        ...

    async def judge(self, content: str) -> Judgement:
        """Judge a text, in one attempt. Raises JudgeUnavailable; the caller retries later."""
        ...


class EvidenceAssessor(Protocol):
    """Decides which pieces of evidence support or contradict a claim.

    There are two: one asks a language model, the other needs none and compares statements by rules.
    """

    @property
    def method(self) -> FactCheckMethod: ...

    @property
    def model(self) -> str | None:
        """The language model; None if there is none."""
        ...

    async def assess(self, claim: str, evidence: Sequence[Evidence]) -> Assessment:
        """Assess the evidence, in one attempt. Raises JudgeUnavailable or EmbedderUnavailable.

        The result names only numbers of this evidence.
        """
        ...


class Segmenter(Protocol):
    """Finds the claims and decisions in an output."""

    @property
    def model(self) -> str:
        """The name that is recorded with the statements."""
        ...

    def accepts(self, content: str) -> bool:
        """Whether an output is short enough to be shown as a whole."""
        ...

    async def find_statements(self, content: str) -> Sequence[FoundStatement]:
        """Find the statements, in one attempt. Raises WriterUnavailable.

        The caller has to look for them in the output: a model may quote what does not stand there.
        """
        ...
