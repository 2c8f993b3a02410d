"""The facade in the form of mem0 on real servers: the library, a server, and a program that closes nothing."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from clearwell import Client, open_memory
from clearwell.adapters.mem0 import AsyncMemory, Memory
from clearwell.errors import NotAllowed
from clearwell.settings import Settings
from tests.integration.cli.conftest import program
from tests.integration.cli.program import Program
from tests.places import make_folder

__all__ = ["program"]

CONVERSATION = [
    {"role": "user", "content": "I am vegetarian, and I have been allergic to nuts and to sesame since my childhood."},
    {"role": "assistant", "content": "I booked a table for two at the vegetarian restaurant on Harbour Street."},
]
QUESTION = "What is Alice allergic to?"
ALICE = {"user_id": "alice"}
UNCLOSED = """
from clearwell.adapters.mem0 import Memory

memory = Memory()
print(memory.add("The harbour office moved to the second floor of the old customs house.", user_id="alice"))
print(memory.get_all(filters={"user_id": "alice"}))
"""


def test_synchronous_on_the_library(settings: Settings) -> None:
    with Memory(settings=settings) as memory:
        added = memory.add(CONVERSATION, user_id="alice", agent_id="concierge", run_id="chat-1")["results"]
        assert [one["event"] for one in added] == ["ADD", "ADD"]
        best = memory.search(QUESTION, filters=ALICE)["results"][0]
        assert (best["id"], best["tier"], best["verified"]) == (added[0]["id"], "working", False)
        with pytest.raises(NotAllowed, match="expires by itself"):
            memory.delete(best["id"])
    with open_memory(settings) as library:
        promoted = library.promote(CONVERSATION[0]["content"], group="alice")
    with Memory(settings=settings, agent=False) as memory:
        best = memory.search(QUESTION, filters=ALICE)["results"][0]
        assert (best["id"], best["tier"], best["verified"]) == (f"alice:{promoted.id}", "longterm", True)
        assert memory.get(best["id"]) is not None
        memory.delete(added[1]["id"])
        assert added[1]["id"] not in {one["id"] for one in memory.get_all(filters=ALICE)["results"]}


async def test_asynchronous_without_a_context(settings: Settings) -> None:
    memory = AsyncMemory(settings=settings)
    await memory.add(CONVERSATION, user_id="alice")
    assert len((await memory.get_all(filters=ALICE))["results"]) == 2
    await memory.close()
    async with memory:
        assert len((await memory.get_all(filters=ALICE))["results"]) == 2


def test_synchronous_on_a_server(program: Program) -> None:
    with program.serving() as serving, Client(serving.url) as client:
        memory = Memory(client)
        added = memory.add(CONVERSATION, user_id="alice")["results"]
        assert memory.search(QUESTION, filters=ALICE)["results"][0]["id"] == added[0]["id"]
        with pytest.raises(NotAllowed, match="expires by itself"):
            memory.delete(added[0]["id"])
        memory.close()
        assert memory.get(added[0]["id"]) is not None


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short enough for sockets."""
    made = make_folder("cw-mem0-")
    yield made
    shutil.rmtree(made)


def test_program_that_closes_nothing_stops_its_servers(folder: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CLEARWELL_")}
    environment |= {"CLEARWELL_DATA_DIR": str(folder / "data")}
    command = [sys.executable, "-W", "error", "-c", UNCLOSED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "'event': 'ADD'" in done.stdout
    left = [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(folder) in " ".join(process.info["cmdline"] or ())
    ]
    assert left == []
