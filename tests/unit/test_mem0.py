"""The facade in the form of mem0, on twins."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from httpx import ASGITransport

from clearwell import AsyncClient
from clearwell.adapters.http.app import create_app
from clearwell.adapters.mem0 import AsyncMemory, Memory
from clearwell.errors import ConfigurationError, EmbedderUnavailable, InvalidInput, NotAllowed, NotFound
from clearwell.records import Principal, Vector
from clearwell.testing import WordEmbedder
from tests.path import AGENT, LONG, OTHER, Path

QUESTION = "When was the payment service moved to the new cluster?"
BOTH = "payment service cluster, nightly backups of the billing database"
ALICE = {"user_id": "alice"}


@pytest.fixture
def path() -> Path:
    return Path()


@pytest.fixture
def memory(path: Path) -> AsyncMemory:
    """The facade of an agent."""
    return AsyncMemory(path.memory.acting_as(Principal.local().lowered()))


async def test_added_message_is_found(memory: AsyncMemory) -> None:
    added = await memory.add(LONG, user_id="alice", metadata={"source": "chat"})
    (result,) = added["results"]
    assert (result["memory"], result["event"], result["tier"], result["verified"]) == (LONG, "ADD", "working", False)
    (found,) = (await memory.search(QUESTION, filters=ALICE))["results"]
    assert found["id"] == result["id"]
    assert (found["memory"], found["user_id"], found["role"], found["metadata"]) == (
        LONG,
        "alice",
        "user",
        {"source": "chat"},
    )
    assert 0 < found["score"] <= 1
    assert found["created_at"] < found["expires_at"]
    assert found["updated_at"] is None
    assert await memory.search(QUESTION, user_id="bob") == {"results": []}


async def test_messages_of_a_conversation(memory: AsyncMemory, path: Path) -> None:
    conversation: list[dict[str, Any]] = [
        {"role": "system", "content": "You are an assistant who answers questions about the systems of the company."},
        {"role": "user", "name": "Alice", "content": [{"type": "text", "text": LONG}, {"type": "image_url"}]},
        {"role": "assistant", "content": OTHER},
        {"role": "tool", "content": "The list of clusters: amber, cobalt and the new one, which is called dune."},
        {"role": "assistant", "content": None},
    ]
    added = await memory.add(conversation, user_id="alice", agent_id="clerk", run_id="monday")
    assert [(one["role"], one["event"]) for one in added["results"]] == [
        ("user", "ADD"),
        ("assistant", "ADD"),
        ("tool", "ADD"),
    ]
    assert added["results"][0]["actor_id"] == "Alice"
    captured = [row.capture for _, row in sorted(path.quarantine.rows["alice"].items())]
    assert [capture.node_type for capture in captured] == ["user", "agent", "tool"]
    assert {(capture.agent_id, capture.session_id) for capture in captured} == {("clerk", "monday")}


async def test_refused_message_says_why(memory: AsyncMemory) -> None:
    ((result,),) = (await memory.add("Noted.", user_id="alice")).values()
    assert (result["event"], result["tier"]) == ("NONE", "quarantine")
    assert "columns" in result["reason"]
    assert await memory.get(result["id"]) is None


async def test_reasons_in_chinese(path: Path) -> None:
    memory = AsyncMemory(path.memory, language="zh")
    ((result,),) = (await memory.add("好的。", user_id="alice")).values()
    assert "列" in result["reason"]


async def test_filters_are_the_agent_the_session_and_metadata(memory: AsyncMemory) -> None:
    await memory.add(LONG, user_id="alice", agent_id="clerk", run_id="monday", metadata={"score": 3})
    await memory.add(OTHER, user_id="alice", agent_id="scout", run_id="friday", metadata={"score": 5})

    async def search(**filters: object) -> list[str]:
        found = await memory.search(BOTH, filters={**ALICE, **filters})
        return sorted(one["memory"] for one in found["results"])

    assert await search() == sorted([LONG, OTHER])
    assert await search(agent_id="clerk") == [LONG]
    assert await search(run_id="friday") == [OTHER]
    assert await search(score={"gte": 4}) == [OTHER]
    assert await search(score=3) == [LONG]
    assert await search(score="*") == sorted([LONG, OTHER])
    assert await search(AND=[{"score": {"in": [3, 4]}}, {"agent_id": "clerk"}]) == [LONG]
    assert len((await memory.search(BOTH, user_id="alice", top_k=1))["results"]) == 1
    assert (await memory.search(BOTH, user_id="alice", threshold=1.0))["results"] == []
    with pytest.raises(InvalidInput, match="Search once for each alternative"):
        await search(OR=[{"score": 3}, {"score": 5}])
    with pytest.raises(InvalidInput, match="icontains"):
        await search(source={"icontains": "mail"})


async def test_verified_memory_is_marked(memory: AsyncMemory, path: Path) -> None:
    promoted = await path.memory.promote(LONG, group="alice", metadata={"source": "minutes"})
    await memory.add(OTHER, user_id="alice", agent_id="scout")
    (found,) = (await memory.search(QUESTION, filters={**ALICE, "agent_id": "clerk"}))["results"]
    assert (found["id"], found["tier"], found["verified"]) == (f"alice:{promoted.id}", "longterm", True)
    assert (found["expires_at"], found["metadata"]) == (None, {"source": "minutes"})
    assert found["updated_at"] is not None
    read = await memory.get(found["id"])
    assert read is not None
    assert {name: read[name] for name in ("id", "memory", "tier", "verified", "metadata")} == {
        name: found[name] for name in ("id", "memory", "tier", "verified", "metadata")
    }


async def test_get_all_lists_the_newest_first(memory: AsyncMemory, path: Path) -> None:
    await memory.add(LONG, user_id="alice", agent_id="clerk")
    path.clock.forward(timedelta(seconds=1))
    await memory.add(OTHER, user_id="alice", agent_id="scout")
    listed = (await memory.get_all(filters=ALICE))["results"]
    assert [one["memory"] for one in listed] == [OTHER, LONG]
    assert "score" not in listed[0]
    assert [one["memory"] for one in (await memory.get_all(filters=ALICE, top_k=1))["results"]] == [OTHER]
    assert [one["memory"] for one in (await memory.get_all(user_id="alice", agent_id="clerk"))["results"]] == [LONG]


async def test_without_a_user_the_group_is_that_of_the_facade(path: Path) -> None:
    memory = AsyncMemory(path.memory, group="support")
    ((added,),) = (await memory.add(LONG, agent_id="clerk")).values()
    assert "support" in path.quarantine.rows
    (found,) = (await memory.search(QUESTION, filters={"agent_id": "clerk"}))["results"]
    assert "user_id" not in found
    assert await memory.get(added["id"].removeprefix("support:")) == await memory.get(added["id"])


async def test_ids_with_a_colon(memory: AsyncMemory) -> None:
    ((added,),) = (await memory.add(LONG, user_id="tenant:7:alice")).values()
    found = await memory.get(added["id"])
    assert found is not None
    assert found["user_id"] == "tenant:7:alice"


async def test_delete_of_a_person_removes_the_entry(path: Path) -> None:
    memory = AsyncMemory(path.memory)
    ((added,),) = (await memory.add(LONG, user_id="alice")).values()
    assert "quarantine" in (await memory.delete(added["id"]))["message"]
    assert await memory.get(added["id"]) is None
    with pytest.raises(NotFound, match="expired"):
        await memory.delete(added["id"])


async def test_what_people_decide_says_how(memory: AsyncMemory, path: Path) -> None:
    ((added,),) = (await memory.add(OTHER, user_id="alice")).values()
    promoted = f"alice:{(await path.memory.promote(LONG, group='alice')).id}"
    refused = {
        "expires by itself": memory.delete(added["id"]),
        "clearwell review undo": memory.delete(promoted),
        "--supersedes": memory.update(promoted, text=OTHER),
        "clearwell retract": memory.delete_all(user_id="alice"),
        "review.origin": memory.history(promoted),
        "another data folder": memory.reset(),
    }
    for text, call in refused.items():
        with pytest.raises(NotAllowed, match=text):
            await call
    with pytest.raises(NotAllowed, match="clearwell review undo"):
        await AsyncMemory(path.memory).delete(promoted)
    assert await memory.get(promoted) is not None


async def test_calls_that_have_no_meaning_here(memory: AsyncMemory) -> None:
    refused = {
        "Leave infer out": memory.add(LONG, user_id="alice", infer=True),
        'add\\(…, user_id="alice"\\)': memory.add(LONG),
        'filters={"user_id": "alice"}': memory.search(QUESTION, filters={"source": "chat"}),
        "no argument memory_type": memory.add(LONG, user_id="alice", memory_type="procedural_memory"),
        "no argument rerank": memory.search(QUESTION, filters=ALICE, rerank=True),
        "no text to capture": memory.add([{"role": "system", "content": "Be brief."}], user_id="alice"),
        "1..100": memory.search(QUESTION, filters=ALICE, top_k=0),
        "not the ID of a memory": memory.get("move"),
    }
    for text, call in refused.items():
        with pytest.raises(InvalidInput, match=text):
            await call
    await memory.search(QUESTION, filters=ALICE, rerank=False, explain=False, reference_date=None, show_expired=False)


async def test_configurations_and_other_faces_are_refused(path: Path) -> None:
    for each in (Memory, AsyncMemory):
        with pytest.raises(ConfigurationError, match="without a configuration"):
            each.from_config({"llm": {"provider": "openai"}})
        with pytest.raises(ConfigurationError, match="A dict cannot"):
            each({"llm": {"provider": "openai"}})  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="A MemoryManager cannot"):
        Memory(path.memory)  # type: ignore[arg-type]


async def test_foreign_group_is_refused(path: Path) -> None:
    memory = AsyncMemory(path.memory.acting_as(AGENT))
    with pytest.raises(NotAllowed):
        await memory.add(LONG, user_id="alice")
    with pytest.raises(NotAllowed):
        await memory.search(QUESTION, user_id="alice")


async def test_on_a_server(path: Path) -> None:
    app = create_app(path.settings)
    app.state.clearwell = path.program
    path.program.keys.trust("token", AGENT)
    promoted = await path.memory.promote(LONG, group="g")
    client = AsyncClient("http://127.0.0.1", "token", transport=ASGITransport(app), settings=path.settings)
    async with client:
        memory = AsyncMemory(client)
        ((added,),) = (await memory.add(OTHER, user_id="g")).values()
        found = (await memory.search(BOTH, filters={"user_id": "g"}))["results"]
        assert {one["id"] for one in found} == {added["id"], f"g:{promoted.id}"}
        assert await memory.get(f"g:{promoted.id}") is not None
        with pytest.raises(NotAllowed, match="expires by itself"):
            await memory.delete(added["id"])
        await memory.close()
        assert len((await memory.get_all(user_id="g"))["results"]) == 1


class DownEmbedder(WordEmbedder):
    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        raise EmbedderUnavailable("working_unavailable", problem="refused")


async def test_degraded_answer_says_so() -> None:
    memory = AsyncMemory(Path(embedder=DownEmbedder()).memory)
    assert await memory.search(QUESTION, user_id="alice") == {"results": [], "degraded": ["embedder"]}
    ((added,),) = (await memory.add(LONG, user_id="alice")).values()
    assert (added["event"], added["tier"]) == ("PENDING", "quarantine")
