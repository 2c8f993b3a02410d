"""Recall over HTTP: a sample of the questions of ``retrieval``, asked of ``clearwell serve`` and of the library."""

import asyncio
import http.client
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench.retrieval import ADVERSARIAL, AIMS, PERSON, SETS, Remembering, _load, folder, groups
from bench.server import serve
from clearwell.app import Clearwell, open_clearwell
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.servers import running_servers
from clearwell.settings import Settings

AT, SAMPLE = (5, 10), 200


async def measure() -> list[str]:
    if not folder().is_dir():
        return [f"No conversations to measure with: there is no folder {folder()}. Name one in CLEARWELL_EVAL.", ""]
    at = Path(tempfile.mkdtemp(prefix="cw-bench-"))
    try:
        settings = Settings(data_dir=at, database_url=None, redis_url=None)
        async with (
            running_servers(settings) as servers,
            open_clearwell(settings, servers, embedder=Remembering()) as clearwell,
        ):
            for name in SETS.values():
                for group in groups(name):
                    await _load(clearwell, group)
            with serve(at) as server:
                rows = [
                    line
                    for title, name in SETS.items()
                    for line in await _measured(clearwell, title, name, server.port)
                ]
        return [
            "### Recall over HTTP",
            "",
            "| | questions | r@5, HTTP | r@10, HTTP | r@5, library | r@10, library | same answers | must reach |",
            "|---|---|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    finally:
        await asyncio.to_thread(shutil.rmtree, at)


async def _measured(clearwell: Clearwell, title: str, name: str, port: int) -> list[str]:
    asked = [(group["group"], one) for group in groups(name) for one in group["questions"]]
    asked = [(group, one) for group, one in asked if one["category"] != ADVERSARIAL]
    drawn = np.random.default_rng(1).choice(len(asked), size=min(SAMPLE, len(asked)), replace=False)
    client = http.client.HTTPConnection("127.0.0.1", port)
    shares: list[list[float]] = []
    same = 0
    for group, one in (asked[number] for number in sorted(drawn)):
        over_http = await asyncio.to_thread(_over_http, client, group, one["question"])
        options = RetrieveOptions(max_results=max(AT), cold_limit=max(AT))
        found = await clearwell.memory.acting_as(PERSON).retrieve(one["question"], group=group, options=options)
        here = [str(item.metadata["ref"]) for item in found.items]
        same += over_http == here
        shares.append([_share(refs, one, k) for refs in (over_http, here) for k in AT])
    client.close()
    values = " | ".join(f"{value:.3f}" for value in np.mean(shares, axis=0))
    five, ten = AIMS[title]
    return [f"| {title} | {len(shares)} | {values} | {same} | {five} and {ten} |"]


def _over_http(client: http.client.HTTPConnection, group: str, question: str) -> list[str]:
    body = {"group_id": group, "query": question, "max_results": max(AT), "cold_limit": max(AT)}
    client.request(
        "POST", "/api/v1/memory/query", body=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    answer = client.getresponse()
    text = answer.read()
    assert answer.status == 200, text
    return [str(item["metadata"]["ref"]) for item in json.loads(text)["results"]]


def _share(refs: list[str], asked: Mapping[str, Any], k: int) -> float:
    evidence = {str(one) for one in asked["evidence"]}
    return len({*refs[:k]} & evidence) / len(evidence)
