"""``spool`` and ``status`` show what the middleware could not deliver, and ``spool deliver`` delivers it."""

import asyncio
import json
from pathlib import Path

from clearwell import AsyncClient, MemoryMiddleware, Node, Session, Settings
from tests.integration.cli.program import Program, free_port

TEXT = "The payment service was moved to the new cluster on Monday without any downtime at all."


async def leave_captures(settings: Settings, count: int) -> None:
    """Capture while there is no server, and end."""
    async with AsyncClient(settings=settings, retries=0) as memory:
        middleware = MemoryMiddleware(memory, settings=settings)
        for number in range(count):
            content = f"{TEXT} {number}" if number else "\x00"
            await middleware.after_node_execution(Session("s", group_id="g"), Node("n"), content)
        await middleware.aclose(seconds=1)


def test_what_was_left_is_shown_delivered_and_discarded(program: Program, tmp_path: Path) -> None:
    assert "Nothing waits for delivery" in program.good("spool", "list").out
    url = program.environment["DATABASE_URL"], program.environment["REDIS_URL"]
    settings = Settings(
        data_dir=tmp_path / "data",
        spool_dir=tmp_path / "data" / "spool",
        database_url=url[0],
        redis_url=url[1],
        port=free_port(),
    )
    asyncio.run(leave_captures(settings, 4))
    assert "captures waiting for delivery: 4, refused: 0" in program.good("status").out
    (left,) = program.good("spool", "list", "--json").json["destinations"]
    assert (left["destination"], left["waiting"], left["refused"]) == (
        "the server on the data folder, without a key, agent",
        4,
        0,
    )
    alone = program.but(CLEARWELL_PORT=str(settings.port)).run("spool", "deliver")
    assert (alone.code, "still waiting: 4" in alone.out, "client_no_answer" in alone.err) == (1, True, True)
    with program.serving():
        assert program.good("spool", "deliver", "--json").json == {"delivered": 3, "refused": 1, "waiting": 0}
    status = program.good("status", "--json").json
    assert (sum(status["counts"]["quarantine"].values()), status["spool"]["refused"]) == (3, 1)
    (path,) = (tmp_path / "data" / "spool").glob("*/refused/*.json")
    assert json.loads(path.read_text())["reason"] == "text_nul"
    assert "被拒绝" in program.chinese().good("spool", "list").out
    assert program.good("spool", "discard", "--json").json == {"refused": 1, "waiting": 0}
    asyncio.run(leave_captures(settings, 2))
    assert program.good("spool", "discard", "--waiting", "--json").json == {"refused": 0, "waiting": 2}
    assert program.good("status", "--json").json["spool"]["waiting"] == 0
