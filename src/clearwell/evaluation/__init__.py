"""How good the configured models are, measured on labelled cases that ship with Clearwell.

``cases`` reads the cases from the ``.toml`` files of this package. ``calls`` asks a model within limits of time and
records how long each answer took; ``tokens`` adds up what its API reports. ``embedder``, ``judge`` and ``writer``
measure one model each, through the ports that the path uses, and ``results`` puts the figures together.
``requirements`` says which values are good enough, and ``advice`` what to do about those that are not.
"""

from clearwell.evaluation.advice import advise
from clearwell.evaluation.calls import EvaluationOptions, ProgressReport
from clearwell.evaluation.embedder import ConfiguredThresholds, evaluate_embedder
from clearwell.evaluation.judge import evaluate_judge
from clearwell.evaluation.tokens import TokenTally
from clearwell.evaluation.writer import evaluate_writer

__all__ = [
    "ConfiguredThresholds",
    "EvaluationOptions",
    "ProgressReport",
    "TokenTally",
    "advise",
    "evaluate_embedder",
    "evaluate_judge",
    "evaluate_writer",
]
