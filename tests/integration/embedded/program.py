"""A program that uses a bundled server, run by tests as a process of its own.

Says one line of JSON when the server answers, waits for a line or the end of its input, stops, says ``stopped``.
"""

import json
import signal
import sys
from dataclasses import asdict
from pathlib import Path

from clearwell.embedded import EmbeddedPostgres, EmbeddedServer, EmbeddedValkey

SERVERS: dict[str, type[EmbeddedServer]] = {"EmbeddedPostgres": EmbeddedPostgres, "EmbeddedValkey": EmbeddedValkey}


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(server: str, folder: str, *flags: str) -> None:
    if "ignore-sigint" in flags:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with SERVERS[server](Path(folder)) as running:
        say(json.dumps(asdict(running), default=str))
        sys.stdin.readline()
    say("stopped")


if __name__ == "__main__":
    main(*sys.argv[1:])
