"""The PostgreSQL and the Valkey that come in wheels, run in a data folder like installed servers.

The rest of Clearwell only sees two URLs, as with any other server.
"""

from clearwell.embedded.backup import Backup, make_backup, read_backup, restore_backup
from clearwell.embedded.postgres import MAX_CONNECTIONS, EmbeddedPostgres, program_url
from clearwell.embedded.server import EmbeddedServer, RunningServer
from clearwell.embedded.size import DataSize, data_size
from clearwell.embedded.superuser import RootMode
from clearwell.embedded.valkey import EmbeddedValkey

__all__ = [
    "MAX_CONNECTIONS",
    "Backup",
    "DataSize",
    "EmbeddedPostgres",
    "EmbeddedServer",
    "EmbeddedValkey",
    "RootMode",
    "RunningServer",
    "data_size",
    "make_backup",
    "program_url",
    "read_backup",
    "restore_backup",
]
