"""The PostgreSQL and the Valkey that come in wheels, run in a data folder like installed servers.

The rest of Clearwell only sees two URLs, as with any other server.
"""

from clearwell.embedded.postgres import MAX_CONNECTIONS, EmbeddedPostgres, program_url
from clearwell.embedded.server import EmbeddedServer, RunningServer
from clearwell.embedded.size import DataSize, data_size
from clearwell.embedded.superuser import RootMode
from clearwell.embedded.valkey import EmbeddedValkey

__all__ = [
    "MAX_CONNECTIONS",
    "DataSize",
    "EmbeddedPostgres",
    "EmbeddedServer",
    "EmbeddedValkey",
    "RootMode",
    "RunningServer",
    "data_size",
    "program_url",
]
