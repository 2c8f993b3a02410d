"""Redis or Valkey: working memory, and what was recalled from it."""

from clearwell.stores.valkey.beats import ValkeyBeats
from clearwell.stores.valkey.client import open_client, working_address
from clearwell.stores.valkey.recalls import ValkeyRecalls
from clearwell.stores.valkey.working import ValkeyWorking

__all__ = ["ValkeyBeats", "ValkeyRecalls", "ValkeyWorking", "open_client", "working_address"]
