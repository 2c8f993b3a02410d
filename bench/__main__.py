"""Run the measurements, all or those named, and write what they say to ``bench/results/``."""

import asyncio
import os
import platform
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from bench import (
    clients,
    console,
    digest,
    fact_check,
    flood,
    growth,
    hot,
    http,
    middleware,
    over_http,
    overhead,
    paths,
    poisoning,
    purify,
    retrieval,
    review,
    same_model,
    sameness,
    scale,
    served,
    start,
    statements,
    support,
    tokens,
    word_lists,
)

PARTS: dict[str, Callable[[], Awaitable[list[str]]]] = {
    "paths": paths.measure,
    "http": http.measure,
    "middleware": middleware.measure,
    "start": start.measure,
    "purify": purify.measure,
    "sameness": sameness.measure,
    "same_model": same_model.measure,
    "word_lists": word_lists.measure,
    "fact_check": fact_check.measure,
    "statements": statements.measure,
    "retrieval": retrieval.measure,
    "hot": hot.measure,
    "over_http": over_http.measure,
    "scale": scale.measure,
    "tokens": tokens.measure,
    "digest": digest.measure,
    "support": support.measure,
    "growth": growth.measure,
    "clients": clients.measure,
    "served": served.measure,
    "review": review.measure,
    "poisoning": poisoning.measure,
    "overhead": overhead.measure,
    "flood": flood.measure,
    "console": console.measure,
}
ONLY_BY_NAME = {"tokens"}
"""It needs packages that Clearwell does not."""
RESULTS = Path(__file__).parent / "results"


async def main(wanted: list[str]) -> None:
    RESULTS.mkdir(exist_ok=True)
    for name in wanted or [part for part in PARTS if part not in ONLY_BY_NAME]:
        lines = await PARTS[name]()
        told = f"Measured on {datetime.now(UTC):%Y-%m-%d} by `python -m bench {name}`, {_machine()}."
        text = "\n".join([told, "", *lines])
        (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
        print(text)


def _machine() -> str:
    return f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
