"""The two examples of the protocol's life-cycle document, as printed there: curl, Chinese text, no key, port 8080.

Where 8080 is taken (a `make serve` is running), the same commands are sent to another port.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

INGEST = """curl -X POST http://localhost:8080/api/v1/memory/ingest \\
  -H "Content-Type: application/json" \\
  -d '{
    "group_id": "grp-123",
    "content": "项目最终决定采用微服务架构，以提高可扩展性和部署灵活性。"
  }'"""
QUERY = """curl -X POST http://localhost:8080/api/v1/memory/query \\
  -H "Content-Type: application/json" \\
  -d '{
    "group_id": "grp-123",
    "query": "项目的架构决策是什么？"
  }'"""
DECISION = "项目最终决定采用微服务架构，以提高可扩展性和部署灵活性。"
DISCUSSION = "热数据：用户刚刚讨论了架构选项，倾向于把支付模块先拆分出来单独部署。"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """`clearwell serve` as a new user gets it: bundled servers, a fresh data folder, local mode."""
    folder = Path(tempfile.mkdtemp(prefix="cw-"))
    chosen = 8080 if _free(8080) else _any_port()
    environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    environment |= {"CLEARWELL_DATA_DIR": str(folder), "CLEARWELL_PORT": str(chosen)}
    with (folder / "output").open("wb") as output:
        command = [sys.executable, "-m", "clearwell", "serve"]
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        _wait_until_ready(process, chosen, folder / "output")
        yield chosen
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        shutil.rmtree(folder)


def _wait_until_ready(process: "subprocess.Popen[bytes]", port: int, output: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        assert process.poll() is None, output.read_text()
        try:
            if httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError(output.read_text())


def _free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def _any_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(command: str, port: int) -> Any:
    """Run the command in a shell, as a person would."""
    command = command.replace("8080", str(port)).replace("curl ", "curl --silent --fail-with-body ", 1)
    return json.loads(subprocess.run(command, shell=True, check=True, capture_output=True).stdout)


def test_the_examples_work_as_printed(port: int) -> None:
    answer = run(INGEST, port)
    assert answer["status"] == "ingested"
    said = {"group_id": "grp-123", "content": DISCUSSION, "metadata": {"confidence": 0.9}}
    captured = httpx.post(f"http://127.0.0.1:{port}/api/v1/captures?wait=true", json=said)
    assert captured.json()["admission"] == "admitted"

    results = run(QUERY, port)["results"]
    by_source = {result["source"]: result for result in results}
    assert set(by_source) == {"cold", "hot"}
    assert by_source["cold"]["content"] == DECISION
    assert 0 < by_source["cold"]["score"] <= 1
    assert by_source["hot"]["content"] == DISCUSSION
    assert by_source["hot"]["score"] == 1.0
    assert all(list(result)[:3] == ["content", "source", "score"] for result in results)


@pytest.mark.parametrize("page", ["tutorial.md", "tutorial.zh.md"])
def test_the_tutorial_prints_the_same_examples(page: str) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / page).read_text(encoding="utf-8")
    assert INGEST in text
    assert QUERY in text
