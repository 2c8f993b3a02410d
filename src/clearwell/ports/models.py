"""The models: vectors, chat and judgement."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from clearwell.records import Json, Judgement, Vector


class Embedder(Protocol):
    """Turns text into vectors of unit length, and knows how to read their cosine."""

    @property
    def model(self) -> str:
        """The name that is stored with each vector. Another model has another name."""
        ...

    async def load(self) -> None:
        """Get ready, where that takes time: a model of this process is loaded, a server elsewhere is not asked."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a text, in one batch. Raises EmbedderUnavailable."""
        ...

    def similarity(self, cosine: float) -> float:
        """How alike two texts are, 0 to 1, on the scale that thresholds are set on."""
        ...

    def relevance(self, cosine: float) -> float:
        """How well a text answers a query, 0 to 1, on the scale that thresholds are set on."""
        ...

    async def close(self) -> None: ...


class TokenCounter(Protocol):
    """Says what a text costs the model that will read it."""

    def count(self, text: str) -> int: ...


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """What is said to a language model, by the program or as the matter at hand."""

    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerForm:
    """The form an answer must have. One of the two requests ends the last message: not every server knows schemas.

    ``is_in_words`` knows an answer in words: one to the request in JSON does not count, and is asked for in words.
    """

    name: str
    schema: Mapping[str, Json]
    in_json: str
    in_words: str
    is_in_words: Callable[[str], bool] | None = None


class ChatModel(Protocol):
    """A language model that is asked one thing at a time."""

    @property
    def model(self) -> str: ...

    async def complete(self, messages: Sequence[ChatMessage], *, form: AnswerForm | None = None) -> str:
        """The answer's text, whole but unchecked. One try: raises JudgeUnavailable."""
        ...

    async def close(self) -> None: ...


class Judge(Protocol):
    """Tells whether a text contradicts itself or evidently makes things up."""

    @property
    def model(self) -> str:
        """The name that is recorded with each judgement."""
        ...

    async def judge(self, content: str) -> Judgement:
        """One try: raises JudgeUnavailable, and the caller tries again later."""
        ...
