"""What an operator can do about a model that is not good enough."""

from collections.abc import Sequence
from typing import Final

from clearwell.records import EvaluationStatus, LanguageEvaluation, Measure, ModelRole, Note

ORDER: Final = frozenset({Measure.ABOVE_UNRELATED, Measure.ABOVE_NEAR, Measure.QUESTIONS_ANSWERED})
"""Measures of the cosines alone. No threshold and no curve can make up for them."""
SIMILARITY: Final = frozenset({Measure.PARAPHRASES_SIMILAR, Measure.UNRELATED_SIMILAR, Measure.FALSE_DUPLICATES})
RELEVANCE: Final = frozenset({Measure.ANSWERS_RELEVANT, Measure.OTHERS_RELEVANT})


def advise(role: ModelRole, status: EvaluationStatus, languages: Sequence[LanguageEvaluation]) -> tuple[Note, ...]:
    """What to do about a model with this status."""
    if status is EvaluationStatus.NOT_CONFIGURED:
        return (Note(code=f"models_set_{role}"),)
    if status is EvaluationStatus.INCOMPLETE:
        return (Note(code="models_more_time"),)
    if status is not EvaluationStatus.NOT_GOOD_ENOUGH:
        return ()
    failed = {one.measure for language in languages for one in language.measurements if not one.passed}
    if role is not ModelRole.EMBEDDER or failed & ORDER:
        return (Note(code=f"models_change_{role}"),)
    return tuple(_advise_on_scale(failed, languages))


def _advise_on_scale(failed: set[Measure], languages: Sequence[LanguageEvaluation]) -> list[Note]:
    """The model separates meanings, but the thresholds do not fit it: where they would."""
    scales = [language.scale for language in languages if language.scale is not None]
    notes: list[Note] = []
    if failed & SIMILARITY:
        low, high = max(one.unrelated for one in scales), min(one.paraphrases for one in scales)
        notes.append(_advise_on_threshold("models_similarity", low, high))
    if failed & RELEVANCE:
        low, high = max(one.others for one in scales), min(one.answers for one in scales)
        notes.append(_advise_on_threshold("models_relevance", low, high))
    return notes


def _advise_on_threshold(kind: str, low: float, high: float) -> Note:
    if low >= high:
        return Note(code=f"{kind}_none")
    return Note(code=f"{kind}_between", params={"low": f"{low:.2f}", "high": f"{high:.2f}"})
