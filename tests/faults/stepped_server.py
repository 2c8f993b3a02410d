"""The server with a clock that a file sets: its text is how many seconds the clock is ahead.

It is the same program, with another clock in the place of the system's, which only root could set and not for one
process. Argument: the file.
"""

import logging
import socket
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import uvicorn

from clearwell.adapters.http import create_app
from clearwell.logs import configure_logs
from clearwell.settings import Settings

READY = "The server answers."


class SteppedClock:
    """The time of the system and the seconds in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=float(self._path.read_text()))


class StartedServer(uvicorn.Server):
    """Says when it answers."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        sys.stdout.write(f"{READY}\n")
        sys.stdout.flush()


def main(path: str) -> None:
    settings = Settings()
    configure_logs("en", level=logging.INFO, colors=False)
    app = create_app(settings, clock=SteppedClock(Path(path)))
    config = uvicorn.Config(app, host=settings.host, port=settings.port, log_config=None, access_log=False, ws="none")
    StartedServer(config).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
