"""Review: people decide what becomes knowledge. Agents never do, by any way in.

In order: ``beside`` (what a reviewer is shown, with ``diff``), ``desk`` (where one person at a time decides),
``standing`` (what may be decided), ``decide`` with one file for each decision (``promoting``, ``rejecting``,
``merging``, ``snoozing``; ``recording`` keeps them), ``undo`` with ``holding`` (which memories hold), ``retract``,
``gauges``; ``ReviewService`` is the one facade over them, with the ``verbs`` for single insights.
"""

from clearwell.flow.review.beside import Showing
from clearwell.flow.review.decide import Deciding
from clearwell.flow.review.desk import AtDesk
from clearwell.flow.review.gauges import StatisticsCache
from clearwell.flow.review.retract import Retracting, RetractionPreview
from clearwell.flow.review.reviewing import ReviewService
from clearwell.flow.review.undo import Undoing
from clearwell.records import DecisionRequest

__all__ = [
    "AtDesk",
    "Deciding",
    "DecisionRequest",
    "Retracting",
    "RetractionPreview",
    "ReviewService",
    "Showing",
    "StatisticsCache",
    "Undoing",
]
