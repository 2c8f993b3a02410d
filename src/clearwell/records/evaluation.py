"""The evaluation of the configured models on labelled cases."""

from dataclasses import dataclass

from clearwell.errors import ClearwellError
from clearwell.messages import Language
from clearwell.records.digest import Note
from clearwell.vocabulary import EvaluationStatus, Measure, ModelRole

TOKENS_OF_A_PRICE = 1_000_000


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """The tokens that an API reports for a request."""

    input: int = 0
    output: int = 0

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        return TokenUsage(self.input + other.input, self.output + other.output)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrices:
    """The prices of a million tokens, as far as the operator has stated them."""

    input: float | None = None
    output: float | None = None

    def cost(self, usage: TokenUsage) -> float | None:
        """Return the cost of these tokens, or None if a price that it needs is not stated."""
        if (usage.input and self.input is None) or (usage.output and self.output is None):
            return None
        return (usage.input * (self.input or 0) + usage.output * (self.output or 0)) / TOKENS_OF_A_PRICE


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """The value that a measure needs: at least this, or at most this."""

    value: float
    at_least: bool = True

    def is_met(self, value: float) -> bool:
        return value >= self.value if self.at_least else value <= self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One measure in one language. Without a requirement it is for information only."""

    measure: Measure
    value: float
    requirement: Requirement | None = None

    @property
    def passed(self) -> bool:
        return self.requirement is None or self.requirement.is_met(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """The time of single calls, in seconds."""

    calls: int
    median: float
    p95: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A case that a model got wrong: what it was asked, and what it answered or why it did not."""

    case: str
    measure: Measure
    text: str
    answer: str = ""
    failure: ClearwellError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleBounds:
    """The range of an embedding model on its calibrated scale: the 10th percentile of pairs that belong together, and
    the 98th percentile of the others."""

    paraphrases: float
    unrelated: float
    answers: float
    others: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageEvaluation:
    """The measurements in one language.

    ``usage`` is the sum over ``billed`` calls of a chat model or texts of an embedding model, or None if the API
    reports no tokens or there is no API.
    """

    language: Language
    cases: int
    answered: int
    measurements: tuple[Measurement, ...] = ()
    latency: Latency | None = None
    usage: TokenUsage | None = None
    billed: int = 0
    cost: float | None = None
    mistakes: tuple[Mistake, ...] = ()
    scale: ScaleBounds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEvaluation:
    """The measurements of one model, in ``cases`` altogether. ``problem`` is why the evaluation was not completed.

    ``advice`` is what the operator can do about it.
    """

    role: ModelRole
    status: EvaluationStatus
    model: str | None = None
    cases: int = 0
    languages: tuple[LanguageEvaluation, ...] = ()
    problem: ClearwellError | None = None
    advice: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsEvaluation:
    """The evaluation of all models. Costs are in ``currency``; ``seconds`` is the time limit of each model."""

    models: tuple[ModelEvaluation, ...]
    currency: str
    seconds: float
