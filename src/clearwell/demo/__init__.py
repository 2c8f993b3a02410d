"""The demo meeting: a small council that holds three meetings on three days, with a human review between them.

``script`` reads who speaks and what is asked, ``speakers`` are the agents (scripted, or a language model), ``council``
runs the meetings on ``MemoryMiddleware`` and returns its ``steps`` one by one, and ``clock`` is the time of the
meetings, which ends today. It uses the same stores and the same path as every other group.
"""

from clearwell.demo.council import Council, hold_meetings
from clearwell.demo.script import CouncilScript, load_script

__all__ = ["Council", "CouncilScript", "hold_meetings", "load_script"]
