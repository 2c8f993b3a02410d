"""Redis or Valkey: working memory, the log of what retrieval returned, events, and heartbeats of workers."""

from clearwell.stores.valkey.client import TimedClient, open_client, working_address
from clearwell.stores.valkey.events import ValkeyEvents
from clearwell.stores.valkey.heartbeats import ValkeyHeartbeats
from clearwell.stores.valkey.pauses import ValkeyPauses
from clearwell.stores.valkey.recalls import ValkeyRecalls
from clearwell.stores.valkey.working import ValkeyWorkingStore

__all__ = [
    "TimedClient",
    "ValkeyEvents",
    "ValkeyHeartbeats",
    "ValkeyPauses",
    "ValkeyRecalls",
    "ValkeyWorkingStore",
    "open_client",
    "working_address",
]
