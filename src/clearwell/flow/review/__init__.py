"""Review: people decide what becomes knowledge. Agents never do, by any way in.

In order: ``beside`` (what a reviewer is shown, with ``diff``), ``desk`` (where one person at a time decides),
``standing`` (what may be decided), ``decide`` with one file for each decision (``promoting``, ``rejecting``,
``merging``, ``snoozing``; ``recording`` keeps them), ``undo`` with ``holding`` (which memories hold), ``retract``,
``gauges``; ``Reviewing`` is the one facade over them, with the ``verbs`` for single insights.
"""

from clearwell.flow.review.beside import Showing
from clearwell.flow.review.decide import Deciding
from clearwell.flow.review.desk import AtDesk
from clearwell.flow.review.gauges import Gauges
from clearwell.flow.review.retract import Listed, Retracting
from clearwell.flow.review.reviewing import Reviewing
from clearwell.flow.review.undo import Undoing
from clearwell.flow.review.wanted import Wanted

__all__ = [
    "AtDesk",
    "Deciding",
    "Gauges",
    "Listed",
    "Retracting",
    "Reviewing",
    "Showing",
    "Undoing",
    "Wanted",
]
