"""The making of a digest, from a tick or a person's request to insights that wait for a reviewer.

``schedule`` finds what is due, ``desk`` takes requests and answers readers, ``run`` makes a digest: ``reading`` gathers
the rows of quarantine, ``clearwell.flow.digest`` drafts insights of them, ``writing`` gives them their words.
"""

from clearwell.flow.digesting.desk import DigestDesk
from clearwell.flow.digesting.reading import Reading
from clearwell.flow.digesting.run import Digesting
from clearwell.flow.digesting.schedule import Scheduling, latest_tick
from clearwell.flow.digesting.writing import Writing

__all__ = ["DigestDesk", "Digesting", "Reading", "Scheduling", "Writing", "latest_tick"]
