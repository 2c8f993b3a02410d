"""Review: people decide what becomes knowledge. Agents never do, by any way in.

In order: ``beside`` (what a reviewer is shown, with ``diff``), ``standing`` (what may be decided), ``decide``,
``undo``, ``retract``, ``gauges``; ``Reviewing`` is the one facade over them.
"""

from clearwell.flow.review.decide import Deciding, Wanted
from clearwell.flow.review.gauges import Gauges
from clearwell.flow.review.retract import Listed, Retracting
from clearwell.flow.review.reviewing import Reviewing

__all__ = ["Deciding", "Gauges", "Listed", "Retracting", "Reviewing", "Wanted"]
