"""What each measure needs, so that a model is good enough.

The values for embedding models are a little below those of the bundled model on the same cases: ``bench/`` measures
what that model means for duplicates, retrieval and digests, so a model that reaches them serves at least as well. The
values for judges and writers say how many errors a user can live with: a judge that refuses sound outputs loses
knowledge until somebody looks, one that misses faults only adds nothing, and a writer may invent nothing at all.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from clearwell.records import Measure, Measurement, Requirement

REQUIREMENTS: Final[Mapping[Measure, Requirement]] = {
    Measure.ABOVE_UNRELATED: Requirement(value=0.95),
    Measure.ABOVE_NEAR: Requirement(value=0.75),
    Measure.QUESTIONS_ANSWERED: Requirement(value=0.7),
    Measure.PARAPHRASES_SIMILAR: Requirement(value=0.7),
    Measure.UNRELATED_SIMILAR: Requirement(value=0.02, at_least=False),
    Measure.FALSE_DUPLICATES: Requirement(value=0.2, at_least=False),
    Measure.ANSWERS_RELEVANT: Requirement(value=0.8),
    Measure.OTHERS_RELEVANT: Requirement(value=0.05, at_least=False),
    Measure.SOUND_PASSED: Requirement(value=0.85),
    Measure.CONTRADICTIONS_FOUND: Requirement(value=0.75),
    Measure.INVENTIONS_FOUND: Requirement(value=0.5),
    Measure.FACTS_KEPT: Requirement(value=0.9),
    Measure.NOTHING_INVENTED: Requirement(value=1.0),
    Measure.DISPUTES_SHOWN: Requirement(value=1.0),
    Measure.USABLE_ANSWERS: Requirement(value=0.85),
}


def measure_share(measure: Measure, hits: Sequence[bool]) -> tuple[Measurement, ...]:
    """Measure the share of hits; nothing if there are no cases."""
    if not hits:
        return ()
    return (Measurement(measure=measure, value=sum(hits) / len(hits), requirement=REQUIREMENTS.get(measure)),)
