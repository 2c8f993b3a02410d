"""A running server as an outside tester sees it: groups with keys of their own, and every door to a memory."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast
from uuid import uuid4

import httpx
import psycopg
import redis
from mcp.shared.exceptions import MCPError
from starlette.testclient import TestClient

from clearwell import (
    AsyncClient,
    ClearwellError,
    ContextRequest,
    MemoryMiddleware,
    NewCapture,
    Node,
    RetrieveOptions,
    Session,
)
from clearwell.adapters.http import create_app
from clearwell.adapters.langgraph import ClearwellStore
from clearwell.adapters.mem0 import AsyncMemory
from clearwell.ports import Clock
from clearwell.servers import Servers
from clearwell.settings import Settings
from tests.integration.cli.program import Program, Serving, until
from tests.integration.mcp.clients import over_http, text_of

_numbers = count(1)
Doors = dict[str, str]
"""What came back, as text, by the door that was used."""
SCOPES = (("capture", "read"), ("capture", "read", "review"), ("read", "admin"))
"""Those of an agent, of a reviewer and of an operator."""
LIMIT = {"max_results": 50, "hot_limit": 50, "cold_limit": 50, "hot_threshold": 0, "relevance_threshold": 0}


class Installation:
    """``clearwell serve`` as a process, its address, and an operator of every group."""

    def __init__(self, program: Program, *, operator: str | None = None) -> None:
        self.program = program
        self._http = httpx.Client(timeout=30, trust_env=False)
        self._serving = ExitStack()
        self.url = ""
        self.start()
        words = ("keys", "create", "--scope", "capture,read,review,admin", "--all-groups", "--json")
        self.operator = Caller(self, operator or str(program.good(*words).json["key"]))

    def start(self) -> None:
        running: Serving = self._serving.enter_context(self.program.serving())
        self.url = running.url

    def stop(self) -> None:
        self._serving.close()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """No server meanwhile; then it starts again."""
        self.stop()
        yield
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._http.close()

    def send(self, method: str, path: str, secret: str, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {secret}", **more.pop("headers", {})}
        return self._http.request(method, self.url + path, headers=headers, **more)

    def place(self) -> "Place":
        """A group that nobody used before, and its keys."""
        return Place(self, f"grp-{uuid4()}")

    def rows(self, statement: str, *values: object, **named: object) -> list[tuple[Any, ...]]:
        """What the database holds, past row-level security."""
        with psycopg.connect(self.program.environment["DATABASE_URL"]) as owner:
            done = owner.execute(statement.encode(), values or named)
            return done.fetchall() if done.description else []

    def keys_with(self, words: Iterable[str]) -> set[str]:
        """The kinds of keys of Valkey that hold one of the words, in any case."""
        found: set[str] = set()
        with redis.Redis.from_url(self.program.environment["REDIS_URL"]) as valkey:
            for key in valkey.scan_iter("*"):
                whole = (valkey.dump(key) or b"").lower() + str(_value(valkey, key)).lower().encode()
                if any(word.encode() in whole for word in words):
                    found.add(f"valkey {key.decode().partition(':')[0]}")
        return found

    def lose_working_memory(self) -> None:
        with redis.Redis.from_url(self.program.environment["REDIS_URL"]) as valkey:
            valkey.flushdb()


class AgedInstallation(Installation):
    """The same program in this process, with a clock that a test sets. ``operator`` is a key that was made before."""

    def __init__(self, program: Program, clock: Clock, *, operator: str | None = None) -> None:
        environment = program.environment
        settings = Settings(
            database_url=environment["DATABASE_URL"],
            redis_url=environment["REDIS_URL"],
            data_dir=Path(environment["CLEARWELL_DATA_DIR"]),
            sweep_seconds=0.2,
        )
        servers = Servers(environment["DATABASE_URL"], environment["REDIS_URL"], embedded=())
        self._client = TestClient(create_app(settings, servers, clock=clock), base_url="http://localhost:8080")
        super().__init__(program, operator=operator)

    def start(self) -> None:
        self._http.close()
        self._http = cast(httpx.Client, self._serving.enter_context(self._client))  # it has the same methods


@dataclass(frozen=True)
class Caller:
    """Somebody with a key."""

    installation: Installation
    secret: str

    def get(self, path: str, **params: Any) -> httpx.Response:
        return self.installation.send("GET", path, self.secret, params=params)

    def post(self, path: str, body: Mapping[str, Any], **headers: str) -> httpx.Response:
        return self.installation.send("POST", path, self.secret, json=body, headers=headers)

    def put(self, path: str, body: Mapping[str, Any]) -> httpx.Response:
        return self.installation.send("PUT", path, self.secret, json=body)

    def delete(self, path: str, **params: Any) -> httpx.Response:
        return self.installation.send("DELETE", path, self.secret, params=params)

    @property
    def program(self) -> Program:
        """The command line with this key."""
        return self.installation.program.but(CLEARWELL_API_KEY=self.secret)


def good(answer: httpx.Response) -> Any:
    """The answer of a request that succeeded."""
    assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"
    return answer.json()


class Place:
    """A group, and callers that cover it and nothing else."""

    def __init__(self, installation: Installation, group: str, *, secrets: Sequence[str] = ()) -> None:
        self.installation = installation
        self.group = group
        self.secrets = secrets or [self.key(*scopes).secret for scopes in SCOPES]
        self.agent, self.reviewer, self.admin = (Caller(installation, one) for one in self.secrets)

    def key(self, *scopes: str, agent: str | None = None) -> Caller:
        body = {"scopes": scopes, "groups": [self.group], "agent_id": agent}
        made = good(self.installation.operator.post("/api/v1/keys", body))
        return Caller(self.installation, made["secret"])

    def capture(self, content: str, agent: str = "a1", by: Caller | None = None, **more: Any) -> dict[str, Any]:
        """What the server answers to an output, once its admission has ended."""
        body = {"group_id": self.group, "content": content, "agent_id": agent, "session_id": f"s-{agent}", **more}
        body.setdefault("metadata", {"confidence": 0.95})
        answer: dict[str, Any] = good((by or self.agent).post("/api/v1/captures?wait=true", body))
        return answer

    def admitted(self, content: str, agent: str = "a1", **more: Any) -> str:
        """An output that entered working memory; its id."""
        answer = self.capture(content, agent, **more)
        assert answer["admission"] == "admitted", answer
        return str(answer["id"])

    def promote(self, content: str, **more: Any) -> str:
        """A text that a person promotes; the id of the memory."""
        body = {"group_id": self.group, "content": content, **more}
        return str(good(self.reviewer.post("/api/v1/memory/ingest", body))["id"])

    def reject(self, value: str, reason: str = "It is wrong.") -> str:
        body = {"group_id": self.group, "value": value, "reason": reason, "withdraw": True}
        return str(good(self.reviewer.post("/api/v1/tombstones", body))["id"])

    def supersede(self, memory: str, content: str) -> str:
        return self.promote(content, supersedes=memory)

    def withdraw(self, memory: str, reason: str = "It no longer holds.") -> dict[str, Any]:
        body = {"group_id": self.group, "reason": reason}
        answer: dict[str, Any] = good(self.reviewer.post(f"/api/v1/memories/{memory}/withdraw", body))
        return answer

    def forget(self, **selector: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The preview and the receipt."""
        wanted = {"group_id": self.group, **selector}
        preview = good(self.admin.post("/api/v1/forget/preview", wanted))
        receipt = good(self.admin.post("/api/v1/forget", {**wanted, "token": preview["token"]}))
        return preview, receipt

    def query(self, query: str, **more: Any) -> list[dict[str, Any]]:
        body = {"group_id": self.group, "query": query, **LIMIT, **more}
        found: list[dict[str, Any]] = good(self.agent.post("/api/v1/memory/query", body))["results"]
        return found

    def texts(self, query: str, **more: Any) -> list[str]:
        return [item["content"] for item in self.query(query, **more)]

    def best(self, query: str) -> str | None:
        """The best verified memory."""
        return next(iter(self.texts(query, sources=["cold"], cold_limit=1)), None)

    def export(self) -> str:
        return self.installation.operator.get("/api/v1/export", group_id=self.group).text

    def row(self, log_id: str) -> dict[str, Any]:
        row: dict[str, Any] = good(self.reviewer.get(f"/api/v1/quarantine/{log_id}", group_id=self.group))
        return row

    def refused_by(self, answer: Mapping[str, Any]) -> str | None:
        """The check that refused an output; None if it was admitted."""
        verdicts = self.row(answer["id"])["verdicts"]
        return next((one["check"] for one in verdicts if one["outcome"] == "fail"), None)

    def audit(self, action: str | None = None) -> list[dict[str, Any]]:
        wanted = {"group_id": self.group, "limit": 200} | ({} if action is None else {"action": action})
        events: list[dict[str, Any]] = good(self.reviewer.get("/api/v1/audit", **wanted))["events"]
        return events

    def write_all(self, content: str) -> list[dict[str, Any]]:
        """The rows that every door leaves of an output."""
        wanted = {"group_id": self.group, "limit": 200}
        before = {row["id"] for row in good(self.reviewer.get("/api/v1/quarantine", **wanted))["rows"]}
        self.write(content)
        rows = good(self.reviewer.get("/api/v1/quarantine", **wanted))["rows"]
        return [row for row in rows if row["id"] not in before]

    def digest(self) -> dict[str, Any]:
        """A digest that was requested now, once it has ended."""
        asked = good(self.reviewer.post("/api/v1/digests", {"group_id": self.group}))["id"]
        found: dict[str, Any] = {}

        def has_ended() -> bool:
            found.update(good(self.reviewer.get(f"/api/v1/digests/{asked}", group_id=self.group)))
            return found["status"] in ("done", "failed")

        until(has_ended)
        assert found["status"] == "done", found
        return found

    def read(self, query: str, claim: str | None = None) -> Doors:
        """What every door that reads for an agent answers to a question, or to a claim if it checks facts."""
        return {**self.read_http(query, claim), **self.read_programs(query)}

    def read_http(self, query: str, claim: str | None = None) -> Doors:
        asked: dict[str, tuple[str, dict[str, Any]]] = {
            "query": ("/api/v1/memory/query", {**LIMIT, "query": query}),
            "query, hot": ("/api/v1/memory/query", {**LIMIT, "query": query, "sources": ["hot"]}),
            "query, cold": ("/api/v1/memory/query", {**LIMIT, "query": query, "sources": ["cold"]}),
            "query, recent": ("/api/v1/memory/query", {"recent": 50}),
            "context": ("/api/v1/context", {"proposal": query, "hot_threshold": 0}),
            "retrieval node": (
                "/api/v1/nodes/memory_retrieval",
                {"input": {"topic": query}, "options": {"relevance_threshold": 0, "hot_threshold": 0}},
            ),
            "fact check": ("/api/v1/memory/fact_check", {"claim": claim or query}),
            "fact-check node": ("/api/v1/nodes/fact_check", {"input": {"claim": claim or query}}),
        }
        answers = {
            name: good(self.agent.post(path, {"group_id": self.group, **body})) for name, (path, body) in asked.items()
        }
        answers["working memory"] = good(self.agent.get(f"/api/v1/working/{self.group}"))
        answers["list of memories"] = good(self.reviewer.get("/api/v1/memories", group_id=self.group, state="verified"))
        return {f"HTTP {name}": json.dumps(answer, ensure_ascii=False) for name, answer in answers.items()}

    def read_programs(self, query: str, by: "Caller | None" = None) -> Doors:
        """The command line, and what is built on the client. A refusal is an answer."""
        caller = by or self.agent
        program, group = caller.program, ("-g", self.group)
        ran = {
            "command query": program.run("query", *group, "--hot-threshold", "0", query, "--json"),
            "command context": program.run("context", *group, "--proposal", query),
            "command working list": program.run("working", "list", *group),
        }
        doors = {name: one.out + one.err for name, one in ran.items()}
        return doors | _run(lambda: _read_frameworks(self.installation.url, caller.secret, self.group, query))

    def prompts(self, query: str, *, agent: str | None = None) -> Doors:
        """What every door that makes a prompt gives to a model."""
        body = {"group_id": self.group, "agent_id": agent, "hot_threshold": 0}
        node = {"relevance_threshold": 0, "hot_threshold": 0}
        built = good(self.agent.post("/api/v1/context", {**body, "proposal": query, "max_tokens": 8000}))
        run = good(
            self.agent.post(
                "/api/v1/nodes/memory_retrieval",
                {"group_id": self.group, "input": {"topic": query}, "options": node},
            )
        )
        doors = {
            "HTTP context": str(built["text"]),
            "HTTP messages": "\n\n".join(one["content"] for one in built["messages"]),
            "HTTP retrieval node": str(run["output"]["history_context"]),
            "command context": self.agent.program.good("context", "-g", self.group, "--proposal", query).out,
        }
        read = _run(lambda: _read_frameworks(self.installation.url, self.agent.secret, self.group, query))
        return doors | {
            name: read[name] for name in ("client, context", "middleware", "MCP search_memory", "MCP context")
        }

    def decide_by_frameworks(self, content: str) -> Doors:
        """What an agent is told by each framework by which it tries to make something verified."""
        return _run(lambda: _decide_by_frameworks(self.installation.url, self.agent.secret, self.group, content))

    def count_by_frameworks(self, query: str, k: int) -> dict[str, int]:
        """How many records each framework gives for at most ``k``."""
        url, secret = self.installation.url, self.agent.secret
        counted = _run(lambda: _count_by_frameworks(url, secret, self.group, query, k))
        ran = self.agent.program.good("query", "-g", self.group, query, "--max-results", str(k), "--json").json
        return {name: int(number) for name, number in counted.items()} | {"command": len(ran["results"])}

    def agent_says(self, content: str) -> list[dict[str, Any]]:
        """What becomes of a message of a user that an agent adds by the interface of mem0."""
        added = _run(lambda: _add_by_mem0(self.installation.url, self.agent.secret, self.group, content))
        results: list[dict[str, Any]] = json.loads(added["mem0"])
        return results

    def write(self, content: str, by: "Caller | None" = None) -> Doors:
        """Say the same by every door that takes an output of an agent; what each answers. A refusal is an answer."""
        caller = by or self.agent
        program, group = caller.program, ("-g", self.group)
        body = {"content": content, "agent_id": "writer"}
        notes, letter = (program.folder / f"notes-{next(_numbers)}.{kind}" for kind in ("jsonl", "md"))
        notes.write_text(json.dumps(body) + "\n", encoding="utf-8")
        letter.write_text(content, encoding="utf-8")
        captures = "/api/v1/captures?wait=true"
        doors = {
            "HTTP capture": caller.post(captures, {**body, "group_id": self.group}).text,
            "HTTP captures": caller.post(captures, {"captures": [{**body, "group_id": self.group}]}).text,
            "HTTP project_id": caller.post(captures, {**body, "project_id": self.group}).text,
        }
        ran = {
            "command capture": program.run("capture", *group, content, "--json"),
            "command import of lines": program.run("import", str(notes), *group, "--json"),
            "command import of a text": program.run("import", str(letter), *group, "--json"),
        }
        doors |= {name: one.out + one.err for name, one in ran.items()}
        return doors | _run(lambda: _write_frameworks(self.installation.url, caller.secret, self.group, content))


def _value(valkey: "redis.Redis", key: bytes) -> Any:
    """The value of a key, whatever it is."""
    readers: dict[bytes | str, Callable[[], Any]] = {
        b"string": lambda: valkey.get(key),
        b"list": lambda: valkey.lrange(key, 0, -1),
        b"zset": lambda: valkey.zrange(key, 0, -1),
        b"set": lambda: valkey.smembers(key),
        b"hash": lambda: valkey.hgetall(key),
        b"stream": lambda: valkey.xrange(key),
    }
    return readers.get(valkey.type(key), lambda: "")()


def _run(work: Callable[[], Awaitable[Doors]]) -> Doors:
    """In a loop of its own: one may already run in this thread."""

    async def run() -> Doors:
        return await work()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, run()).result()


async def _answers(asked: Mapping[str, Awaitable[object]]) -> Doors:
    """What each call returned, as text, or the error that it raised."""
    doors: Doors = {}
    for name, call in asked.items():
        try:
            doors[name] = str(await call)
        except ClearwellError as problem:
            doors[name] = f"{problem.code}: {problem}"
    return doors


async def _read_frameworks(url: str, secret: str, group: str, query: str) -> Doors:
    async with AsyncClient(url, secret) as client:
        facade, store = AsyncMemory(client), ClearwellStore(client)
        owner = {"user_id": group}
        doors = await _answers(
            {
                "client": client.retrieve(query, group=group),
                "client, context": _build(client, group, query),
                "mem0 search": facade.search(query, filters=owner, threshold=0, top_k=50),
                "mem0 get_all": facade.get_all(filters=owner, top_k=50),
                "store search": store.asearch((group,), query=query, limit=50),
                "store list": store.asearch((group, "working"), limit=50),
            }
        )
        async with MemoryMiddleware(client, group=group, spool=False) as middleware:
            read = await middleware.before_node_execution(Session("s", state={"topic": query}), Node("n"))
            doors["middleware"] = read.text or str(read.problem)
    async with over_http(url, query=f"?group={group}", Authorization=f"Bearer {secret}") as mcp:
        doors["MCP search_memory"] = text_of(await mcp.call_tool("search_memory", {"query": query, "max_results": 50}))
        try:
            messages = (await mcp.get_prompt("context", {"task": query})).messages
            doors["MCP context"] = "\n\n".join(str(getattr(one.content, "text", one.content)) for one in messages)
        except MCPError as problem:
            doors["MCP context"] = str(problem)
    return doors


async def _build(client: AsyncClient, group: str, query: str) -> str:
    return (await client.build_context(ContextRequest(proposal=query), group=group)).text


async def _write_frameworks(url: str, secret: str, group: str, content: str) -> Doors:
    async with AsyncClient(url, secret) as client:
        store = ClearwellStore(client)
        doors = await _answers(
            {
                "client": client.capture(NewCapture(content=content, group_id=group), wait=True),
                "mem0": AsyncMemory(client).add(content, user_id=group),
                "store": store.aput((group, "working"), "key", {"text": content}),
            }
        )
        async with MemoryMiddleware(client, group=group, spool=False) as middleware:
            await middleware.after_node_execution(Session("s"), Node("n"), {"content": content})
            await middleware.flush()
            doors["middleware"] = str(middleware.status())
    async with over_http(url, query=f"?group={group}", Authorization=f"Bearer {secret}") as mcp:
        doors["MCP capture"] = text_of(await mcp.call_tool("capture", {"content": content}))
        proposal = {"statement": content, "reason": "It is true."}
        doors["MCP propose_for_review"] = text_of(await mcp.call_tool("propose_for_review", proposal))
    return doors


async def _decide_by_frameworks(url: str, secret: str, group: str, content: str) -> Doors:
    async with AsyncClient(url, secret) as client:
        store = ClearwellStore(client)
        doors = await _answers(
            {
                "client": client.promote(content, group=group),
                "store": store.aput((group, "verified"), "key", {"text": content}),
                "mem0": AsyncMemory(client).delete_all(user_id=group),
            }
        )
    async with over_http(url, query=f"?group={group}", Authorization=f"Bearer {secret}") as mcp:
        tools = {tool.name for tool in (await mcp.list_tools()).tools}
        assert tools == {"search_memory", "capture", "propose_for_review"}
        doors["MCP"] = text_of(await mcp.call_tool("promote", {"content": content}))
    return doors


async def _count_by_frameworks(url: str, secret: str, group: str, query: str, k: int) -> Doors:
    async with AsyncClient(url, secret) as client:
        facade, store = AsyncMemory(client), ClearwellStore(client)
        found = await facade.search(query, filters={"user_id": group}, top_k=k)
        listed = await facade.get_all(filters={"user_id": group}, top_k=k)
        options = RetrieveOptions(max_results=k)
        counted = {
            "client": len((await client.retrieve(query, group=group, options=options)).items),
            "mem0 search": len(found["results"]),
            "mem0 get_all": len(listed["results"]),
            "store search": len(await store.asearch((group,), query=query, limit=k)),
            "store list": len(await store.asearch((group, "working"), limit=k)),
        }
    async with over_http(url, query=f"?group={group}", Authorization=f"Bearer {secret}") as mcp:
        answer = await mcp.call_tool("search_memory", {"query": query, "max_results": k})
        counted["MCP search_memory"] = text_of(answer).count("<memory id=")
    return {name: str(number) for name, number in counted.items()}


async def _add_by_mem0(url: str, secret: str, group: str, content: str) -> Doors:
    async with AsyncClient(url, secret) as client:
        message = [{"role": "user", "content": content}]
        added = await AsyncMemory(client).add(message, user_id=group, metadata={"verified": True})
        return {"mem0": json.dumps(added["results"], default=str)}


def tells(text: str, word: str) -> bool:
    """Whether a text has a word. A number counts only by itself: IDs, times and scores have any four digits."""
    if not word.isdigit():
        return word in text
    return re.search(rf"(?<![\w.-]){word}(?![\w-])", text) is not None


def require_absent(doors: Mapping[str, str], words: Iterable[str]) -> None:
    """No door told any of the words."""
    words = tuple(words)
    told = [
        f"{door} tells {word!r}: {text[:800]}" for door, text in doors.items() for word in words if tells(text, word)
    ]
    assert not told, "\n".join(told)


def require_present(doors: Mapping[str, str], word: str, *, but: Iterable[str] = ()) -> None:
    """Every door told the word: the control, without which an empty answer would look like a refusal."""
    silent = [f"{door}: {text[:800]}" for door, text in doors.items() if word not in text and door not in but]
    assert not silent, f"{word!r} is not told by\n" + "\n".join(silent)
