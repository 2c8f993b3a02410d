"""Whether a bundled server runs, without starting one."""

import os
from pathlib import Path

from clearwell.embedded.processes import running_in
from clearwell.embedded.server import EmbeddedServer


def is_running(server: EmbeddedServer) -> bool:
    """Asks the system for a process of the server in its folder, which may be a link to another place."""
    family = running_in(Path(os.path.realpath(server.folder)), server.program)
    return any(not process.title.startswith("postgres:") for process in family)  # those are children
