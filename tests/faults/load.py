"""The load: agents that capture and ask, people who promote, reject, ask for digests and forget, all at once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any
from uuid import UUID

import httpx

from clearwell.client.api import ApiConnection
from clearwell.client.problems import ProblemAnswer
from clearwell.client.retries import KEY_HEADER, RetryPolicy
from clearwell.client.routes import ApiClient
from clearwell.errors import ClearwellError, RequestInProgress, Unavailable
from clearwell.vocabulary import Action, DigestStatus, InsightState
from tests.faults.ledger import Kind, Ledger, Write

CALLERS = 4
PAUSE = 0.4
POLICY = RetryPolicy(total_seconds=2.0, retries=6, first_pause=0.05, longest_pause=0.4)
ATTEMPTS, ATTEMPT_SECONDS = 3, 1.0
OUTAGES = frozenset({502, 503, 504})
STILL_RUNNING = 409
INTERNAL = 500


class Load:
    """Callers of one API that write and read until they are told to stop."""

    def __init__(self, url: str, key: str, ledger: Ledger, random: Random) -> None:
        self._api = ApiClient(ApiConnection(url, secret=key, policy=POLICY))
        headers = {"Authorization": f"Bearer {key}"}
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=ATTEMPT_SECONDS, trust_env=False)
        self._ledger = ledger
        self._random = random
        self._digests: list[tuple[str, UUID]] = []
        self._insights: list[tuple[str, UUID, int]] = []
        self.group_id = ""
        self.only_promotions = False
        self._operations: dict[Callable[[], Awaitable[None]], float] = {
            self._capture: 5,
            self._capture_by_http: 4,
            self._promote: 3,
            self._query: 2,
            self._decide: 2,
            self._request_digest: 0.5,
            self._forget: 0.5,
        }

    async def close(self) -> None:
        await self._api.close()
        await self._http.aclose()

    @asynccontextmanager
    async def running(self, group_id: str, *, only_promotions: bool = False) -> AsyncIterator[None]:
        """Load on one group while this lasts. It ends when everything that was sent is answered, or given up."""
        self.group_id, self.only_promotions = group_id, only_promotions
        stop = asyncio.Event()
        callers = [asyncio.create_task(self._call(stop), name=f"caller {number}") for number in range(CALLERS)]
        try:
            yield
        finally:
            stop.set()
            await asyncio.gather(*callers)

    async def _call(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            operation = self._promote
            if not self.only_promotions:
                (operation,) = self._random.choices(list(self._operations), weights=list(self._operations.values()))  # type: ignore[assignment]
            await operation()
            await asyncio.sleep(self._random.uniform(0, PAUSE))

    async def _send(self, write: Write, sent: Awaitable[Any]) -> Any:
        """Wait for the answer and note what it is; None where there is none."""
        try:
            answer = await sent
        except (Unavailable, RequestInProgress):
            return None
        except ClearwellError as error:
            if not self._note_surprise(error):
                write.refused = error.code
            return None
        write.acknowledged = True
        return answer

    def _note_surprise(self, error: ClearwellError) -> bool:
        """Note an answer that no fault explains: a part that does not respond is no internal error."""
        surprising = isinstance(error, ProblemAnswer) and error.problem.status == INTERNAL
        if surprising:
            self._ledger.surprises[f"{INTERNAL} {error.code}"] += 1
        return surprising

    async def _capture(self) -> None:
        write = self._ledger.begin(Kind.CAPTURE, self.group_id, text=self._ledger.new_text())
        sent = self._api.capture(write.group_id, write.text, key=write.key, session_id="s", agent_id="a")
        if answer := await self._send(write, sent):
            write.id = answer.id

    async def _capture_by_http(self) -> None:
        """As a program without our client would: the same key in each attempt, and few attempts."""
        write = self._ledger.begin(Kind.RAW_CAPTURE, self.group_id, text=self._ledger.new_text())
        body = {"group_id": write.group_id, "content": write.text, "session_id": "s", "agent_id": "b"}
        for _ in range(ATTEMPTS):
            try:
                answer = await self._http.post("/api/v1/captures", json=body, headers={KEY_HEADER: write.key})
                found = answer.json()
            except (httpx.HTTPError, ValueError):
                continue
            if answer.is_success:
                write.acknowledged, write.id = True, UUID(found["id"])
                return
            if answer.status_code == INTERNAL:
                self._ledger.surprises[f"{INTERNAL} {found.get('type')}"] += 1
                return
            if answer.status_code not in OUTAGES and answer.status_code != STILL_RUNNING:
                write.refused = str(found.get("type", answer.status_code))
                self._ledger.surprises[f"{answer.status_code} {write.refused}"] += 1
                return

    async def _promote(self) -> None:
        write = self._ledger.begin(Kind.PROMOTE, self.group_id, text=self._ledger.new_text())
        if answer := await self._send(write, self._api.ingest(write.group_id, write.text, key=write.key)):
            write.id, write.chunks = answer.id, answer.chunks

    async def _query(self) -> None:
        try:
            await self._api.query(self.group_id, self._ledger.new_text()[15:90])
        except Unavailable:
            return
        except ClearwellError as error:
            if not self._note_surprise(error):
                raise

    async def _request_digest(self) -> None:
        write = self._ledger.begin(Kind.DIGEST, self.group_id)
        if answer := await self._send(write, self._api.review.request_digest(write.group_id, key=write.key)):
            write.id = answer.id
            self._digests.append((write.group_id, answer.id))

    async def _decide(self) -> None:
        if not self._insights:
            await self._look_for_insights()
            return
        group_id, insight_id, version = self._insights.pop(self._random.randrange(len(self._insights)))
        kind = self._random.choice((Kind.ACCEPT, Kind.REJECT))
        write = self._ledger.begin(kind, group_id, subject=insight_id)
        if kind is Kind.ACCEPT:
            sent = self._api.review.decide(group_id, Action.PROMOTE, insight_id, key=write.key, version=version)
        else:
            sent = self._api.review.decide(
                group_id, Action.REJECT, insight_id, key=write.key, version=version, reason="not so"
            )
        if answer := await self._send(write, sent):
            write.id = answer.decision_id

    async def _look_for_insights(self) -> None:
        if not self._digests:
            return
        group_id, digest_id = self._digests.pop(0)
        try:
            digest = await self._api.review.digest(digest_id, group_id=group_id)
            if digest.status is not DigestStatus.DONE:
                self._digests.append((group_id, digest_id))
                return
            page = await self._api.review.insights(group_id, state=InsightState.PENDING)
        except ClearwellError as error:
            self._note_surprise(error)
            self._digests.append((group_id, digest_id))
            return
        known = {insight_id for _, insight_id, _ in self._insights}
        self._insights += [(group_id, one.id, one.version) for one in page.insights if one.id not in known]

    async def _forget(self) -> None:
        captures = [
            write
            for write in self._ledger.writes[-200:]
            if write.kind in (Kind.CAPTURE, Kind.RAW_CAPTURE) and write.acknowledged
        ]
        if not captures:
            return
        chosen = self._random.choice(captures)
        try:
            preview = await self._api.preview_forget(chosen.group_id, log_id=chosen.id)
        except ClearwellError as error:
            self._note_surprise(error)  # or it is forgotten already
            return
        if not preview.things:
            return
        write = self._ledger.begin(Kind.FORGET, chosen.group_id, subject=chosen.id)
        if answer := await self._send(write, self._api.forget(chosen.group_id, token=preview.token, log_id=chosen.id)):
            write.id, write.gone = answer.id, answer.outputs
