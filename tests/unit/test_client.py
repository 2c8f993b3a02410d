"""The client over the whole program on twins: views back, and the errors of the library."""

import math
import socket
from uuid import UUID

import pytest
from httpx import ASGITransport

from clearwell.adapters.http.app import create_app
from clearwell.client.api import ApiConnection
from clearwell.client.routes import ApiClient
from clearwell.errors import Conflict, InvalidInput, NotAllowed, NotFound, TooLarge, Unauthenticated, Unavailable
from clearwell.messages import Language
from clearwell.settings import Settings
from clearwell.vocabulary import Action, Admission, Outcome
from tests.path import LONG, OTHER, PERSON, Path, client_of

NOWHERE = UUID(int=99)


def client_for(path: Path, *, secret: str | None, language: Language = "en", acts_for_agent: bool = False) -> ApiClient:
    app = create_app(path.settings)
    app.state.clearwell = path.program
    path.program.keys.trust("token", PERSON)
    api = ApiConnection(
        "http://127.0.0.1",
        secret=secret,
        language=language,
        acts_for_agent=acts_for_agent,
        transport=ASGITransport(app),
    )
    return ApiClient(api)


async def test_what_is_captured_is_admitted_found_and_removed() -> None:
    async with client_of(Path()) as client:
        assert await client.is_alive()
        receipt = await client.capture("g", LONG, wait=True, agent_id="a1", metadata={"confidence": 0.9})
        assert receipt.admission is Admission.ADMITTED
        row = await client.quarantine_row("g", receipt.id)
        assert (row.content, row.agent_id) == (LONG, "a1")
        (item,) = (await client.query("g", LONG, hot_limit=5)).results
        assert (item.id, item.verified) == (receipt.id, False)
        assert (await client.remove_working_entry("g", receipt.id)).id == receipt.id
        assert (await client.working_memory("g")).entries == ()


async def test_an_error_is_the_librarys_with_the_servers_words() -> None:
    path = Path()
    async with client_for(path, secret="token", language="zh") as client:
        with pytest.raises(NotFound) as missing:
            await client.quarantine_row("g", NOWHERE)
        assert missing.value.code == "row_not_found"
        assert "群组 g" in missing.value.text("en")
        with pytest.raises(InvalidInput) as invalid:
            await client.capture("g", " ")
        assert (invalid.value.code, invalid.value.field) == ("text_blank", "content")
        with pytest.raises(TooLarge):
            await client.capture("g", "x" * (path.settings.max_content_bytes + 1))
        made = await client.ingest("g", LONG)
        assert made.decision_id is not None
        await client.review.undo("g", made.decision_id)
        with pytest.raises(Conflict) as conflict:
            await client.review.undo("g", made.decision_id)
        assert conflict.value.code == "undo_twice"


async def test_a_caller_without_rights_is_refused() -> None:
    path = Path()
    async with client_for(path, secret="wrong") as stranger:
        with pytest.raises(Unauthenticated):
            await stranger.query("g", "anything")
    async with client_for(path, secret="token", acts_for_agent=True) as agent:
        with pytest.raises(NotAllowed, match="local/agent"):
            await agent.ingest("g", LONG)
        assert (await agent.capture("g", OTHER)).group_id == "g"


async def test_what_json_cannot_say_is_the_servers_to_judge() -> None:
    async with client_of(Path()) as client:
        receipt = await client.capture("g", LONG, wait=True, metadata={"confidence": math.nan})
        assert receipt.verdicts[0].outcome is Outcome.FAIL
        with pytest.raises(InvalidInput):
            await client.capture("g", "a lone surrogate \udc80 in a text that is long enough to be admitted")


async def test_names_may_hold_anything_that_a_path_may_not() -> None:
    group = "组/a b?c#d%e"
    async with client_of(Path()) as client:
        assert (await client.change_group(group, {"system_prompt": "x"})).group_id == group
        assert (await client.put_agent(group, "a/1", "careful")).agent_id == "a/1"
        assert [agent.agent_id for agent in (await client.agents(group)).agents] == ["a/1"]
        await client.capture(group, LONG, wait=True)
        assert len((await client.working_memory(group)).entries) == 1


async def test_only_the_wanted_kind_of_decision_is_taken_back() -> None:
    async with client_of(Path()) as client:
        made = await client.ingest("g", LONG)
        assert made.decision_id is not None
        with pytest.raises(Conflict, match="promote"):
            await client.review.undo("g", made.decision_id, only=Action.RETRACT)
        assert (await client.review.undo("g", made.decision_id, only=Action.PROMOTE)).undone is Action.PROMOTE


async def test_no_answer_and_a_strange_answer_are_told_with_their_address() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    async with ApiClient(ApiConnection(url)) as client:
        assert not await client.is_alive()
        with pytest.raises(Unavailable, match=url):
            await client.groups()

    async def app(_scope: object, _receive: object, send) -> None:  # type: ignore[no-untyped-def]
        await send({"type": "http.response.start", "status": 502, "headers": []})
        await send({"type": "http.response.body", "body": b"<html>"})

    async with ApiClient(ApiConnection("http://proxy", transport=ASGITransport(app))) as client:
        assert not await client.is_alive()
        with pytest.raises(Unavailable, match="502"):
            await client.groups()


def test_the_key_of_commands_is_a_setting_and_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEARWELL_API_KEY", "cw_hush")
    settings = Settings()
    assert settings.api_key is not None
    assert settings.api_key.get_secret_value() == "cw_hush"
    assert "hush" not in repr(settings)
    monkeypatch.setenv("CLEARWELL_API_KEY", "")
    assert Settings().api_key is None
