"""The store of LangGraph on memory.

LangGraph has a conformance suite for checkpointers only, so the behaviours that its own stores are tested for are here.
Five do not apply: items in ``verified`` cannot be put, deleted or listed, because only people promote; namespaces have
two labels, the group and the tier; a value comes back with its tier; ``index`` says nothing, because the text of every
item is searched; and there is no TTL by item, because working memory expires by itself.
"""

import asyncio
from datetime import timedelta
from typing import Any, TypedDict

import pytest
from langgraph.runtime import Runtime
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from clearwell.adapters.langgraph import ClearwellStore
from clearwell.errors import Conflict, InvalidInput, NotAllowed
from clearwell.records import GroupChange
from tests.frameworks import CONFIG, QUESTION, graph_of
from tests.path import AGENT, LONG, OTHER, Path


class Findings(TypedDict):
    found: list[str]


WORKING, VERIFIED = ("g", "working"), ("g", "verified")


@pytest.fixture
def path() -> Path:
    return Path()


@pytest.fixture
async def store(path: Path) -> ClearwellStore:
    """The store of an agent."""
    return ClearwellStore(path.memory.acting_as(AGENT))


def reviewing(path: Path) -> ClearwellStore:
    """The store of a person."""
    return ClearwellStore(path.memory)


async def test_put_then_get(store: ClearwellStore) -> None:
    await store.aput(WORKING, "move", {"text": LONG, "source": "minutes", "detail": {"day": 3}})
    item = await store.aget(WORKING, "move")
    assert item is not None
    assert (item.namespace, item.key) == (WORKING, "move")
    assert item.value["text"] == LONG
    assert (item.value["source"], item.value["detail"]) == ("minutes", {"day": 3})
    assert (item.value["tier"], item.value["verified"]) == ("working", False)
    assert item.value["expires_at"] is not None
    assert await store.aget(WORKING, item.value["id"]) is not None


async def test_get_of_an_unknown_key_is_none(store: ClearwellStore) -> None:
    assert await store.aget(WORKING, "nothing") is None
    assert await store.aget(WORKING, "01890000-0000-7000-8000-000000000001") is None


async def test_put_again_is_the_newest(store: ClearwellStore, path: Path) -> None:
    await store.aput(WORKING, "move", {"content": LONG})
    path.clock.forward(timedelta(seconds=1))
    await store.aput(WORKING, "move", {"content": OTHER})
    item = await store.aget(WORKING, "move")
    assert item is not None
    assert item.value["content"] == OTHER


async def test_value_without_a_text_is_captured_as_json(store: ClearwellStore, path: Path) -> None:
    value = {"service": "payment service", "cluster": "the new cluster", "downtime_minutes": 0}
    await store.aput(WORKING, "facts", value)
    (row,) = path.quarantine.rows["g"].values()
    assert '"cluster": "the new cluster"' in row.capture.content


async def test_put_is_a_capture_of_the_agent(store: ClearwellStore, path: Path) -> None:
    async def agent(state: Findings, runtime: Runtime[None]) -> Findings:
        assert runtime.store is not None
        await runtime.store.aput(WORKING, "move", {"text": LONG})
        found = await runtime.store.asearch(WORKING, query=QUESTION)
        return {"found": [item.key for item in found]}

    graph = graph_of(agent, Findings, store=store)
    assert await graph.ainvoke({"found": []}, CONFIG) == {"found": ["move"]}
    (row,) = path.quarantine.rows["g"].values()
    assert (row.capture.session_id, row.capture.agent_id, row.capture.node_id) == ("meeting-7", "auditor", "store")


async def test_refused_put_stays_in_quarantine(store: ClearwellStore, path: Path) -> None:
    await store.aput(WORKING, "short", {"text": "ok"})
    assert len(path.quarantine.rows["g"]) == 1
    assert await store.aget(WORKING, "short") is None


async def test_search_has_the_tier_in_the_value(store: ClearwellStore, path: Path) -> None:
    await path.memory.promote(LONG, group="g")
    await store.aput(WORKING, "backups", {"text": OTHER})
    (verified,) = await store.asearch(VERIFIED, query=QUESTION)
    assert (verified.value["content"], verified.value["tier"]) == (LONG, "verified")
    assert verified.value["verified"] is True
    assert verified.namespace == VERIFIED
    assert verified.score is not None
    query = "payment service cluster, nightly backups of the billing database"
    both = await store.asearch(("g",), query=query)
    assert {item.namespace for item in both} == {WORKING, VERIFIED}
    assert [item.key for item in await store.asearch(WORKING, query=query)] == ["backups"]


async def test_search_without_a_query_lists_the_newest(store: ClearwellStore, path: Path) -> None:
    for number, text in enumerate((LONG, OTHER)):
        await store.aput(WORKING, str(number), {"text": text})
        path.clock.forward(timedelta(seconds=1))
    assert [item.key for item in await store.asearch(WORKING)] == ["1", "0"]
    assert [item.key for item in await store.asearch(WORKING, limit=1, offset=1)] == ["0"]
    assert [item.key for item in await store.asearch(WORKING, limit=1, offset=5)] == []
    assert [item.score for item in await store.asearch(("g",))] == [None, None]


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        ({"kind": "report"}, ["a"]),
        ({"kind": {"$ne": "report"}}, ["b"]),
        ({"score": {"$gt": 3}}, ["b"]),
        ({"score": {"$gte": 3, "$lt": 5}}, ["a"]),
        ({"kind": "report", "score": 5}, []),
        ({"where": {"room": "hall"}}, ["a"]),
    ],
)
async def test_filters(store: ClearwellStore, path: Path, wanted: dict[str, Any], keys: list[str]) -> None:
    await store.aput(WORKING, "a", {"text": LONG, "kind": "report", "score": 3, "where": {"room": "hall"}})
    await store.aput(WORKING, "b", {"text": OTHER, "kind": "note", "score": 5})
    assert [item.key for item in await store.asearch(WORKING, filter=wanted)] == keys


async def test_unknown_operator_names_the_known_ones(store: ClearwellStore) -> None:
    with pytest.raises(InvalidInput, match=r"\$gte"):
        await store.asearch(WORKING, filter={"kind": {"$like": "rep"}})


async def test_verified_namespace_is_read_only(store: ClearwellStore, path: Path) -> None:
    for each in (store, reviewing(path)):
        with pytest.raises(NotAllowed, match='Put it into \\("g", "working"\\)'):
            await each.aput(VERIFIED, "move", {"text": LONG})
        with pytest.raises(NotAllowed, match="only people promote"):
            await each.adelete(VERIFIED, "move")
    assert "g" not in path.quarantine.rows or not path.quarantine.rows["g"]


async def test_verified_memory_is_read_by_its_id(store: ClearwellStore, path: Path) -> None:
    promoted = await path.memory.promote(LONG, group="g", metadata={"source": "minutes"})
    (found,) = await store.asearch(VERIFIED, query=QUESTION)
    item = await store.aget(VERIFIED, found.key)
    assert item is not None
    assert (item.namespace, item.key, item.value) == (VERIFIED, str(promoted.id), found.value)
    assert await store.aget(VERIFIED, "01890000-0000-7000-8000-000000000001") is None


async def test_verified_memories_are_searched(store: ClearwellStore) -> None:
    with pytest.raises(InvalidInput, match="search"):
        await store.aget(VERIFIED, "move")
    with pytest.raises(InvalidInput, match="query"):
        await store.asearch(VERIFIED)


async def test_delete_of_a_person_removes_the_entry(store: ClearwellStore, path: Path) -> None:
    await store.aput(WORKING, "move", {"text": LONG})
    await reviewing(path).adelete(WORKING, "move")
    assert await store.aget(WORKING, "move") is None
    await reviewing(path).adelete(WORKING, "move")


async def test_delete_of_an_agent_says_what_to_do(store: ClearwellStore) -> None:
    await store.aput(WORKING, "move", {"text": LONG})
    with pytest.raises(NotAllowed, match="expires by itself"):
        await store.adelete(WORKING, "move")
    assert await store.aget(WORKING, "move") is not None


async def test_foreign_group_is_refused(store: ClearwellStore) -> None:
    with pytest.raises(NotAllowed):
        await store.aput(("not-ours", "working"), "move", {"text": LONG})
    with pytest.raises(NotAllowed):
        await store.asearch(("not-ours",), query=QUESTION)


@pytest.mark.parametrize("namespace", [("g",), ("g", "other"), ("g", "working", "deeper")])
async def test_other_namespaces_are_refused(store: ClearwellStore, namespace: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput, match='\\("g", "verified"\\) and \\("g", "working"\\)'):
        await store.aput(namespace, "move", {"text": LONG})


async def test_invalid_labels_are_refused_as_in_other_stores(store: ClearwellStore) -> None:
    for namespace in ((), ("g", ""), ("g.x", "working"), ("langgraph", "working")):
        with pytest.raises(InvalidNamespaceError):
            await store.aput(namespace, "move", {"text": LONG})
    with pytest.raises(InvalidNamespaceError):
        await store.abatch([PutOp(("g.x", "working"), "move", {"text": LONG})])


async def test_ttl_is_not_supported(store: ClearwellStore) -> None:
    with pytest.raises(NotImplementedError):
        await store.aput(WORKING, "move", {"text": LONG}, ttl=5)


async def test_batch_reads_before_it_writes_and_keeps_the_order(store: ClearwellStore) -> None:
    await store.aput(WORKING, "old", {"text": OTHER})
    results = await store.abatch(
        [
            PutOp(WORKING, "new", {"text": "This is overwritten by the last put of the same key in the batch."}),
            GetOp(WORKING, "new"),
            GetOp(WORKING, "old"),
            SearchOp(WORKING),
            PutOp(WORKING, "new", {"text": LONG}),
            ListNamespacesOp(),
        ]
    )
    assert results[:2] == [None, None]
    old, found, written, namespaces = results[2:]
    assert getattr(old, "key", None) == "old"
    assert isinstance(found, list)
    assert len(found) == 1
    assert written is None
    assert namespaces == [VERIFIED, WORKING]
    new = await store.aget(WORKING, "new")
    assert new is not None
    assert new.value["text"] == LONG


async def test_list_namespaces(path: Path) -> None:
    store = reviewing(path)
    for group in ("g", "h"):
        await path.memory.change_group(GroupChange(system_prompt="Be brief."), group=group)
    assert await store.alist_namespaces() == [VERIFIED, WORKING, ("h", "verified"), ("h", "working")]
    assert await store.alist_namespaces(prefix=("h",)) == [("h", "verified"), ("h", "working")]
    assert await store.alist_namespaces(suffix=("working",)) == [WORKING, ("h", "working")]
    assert await store.alist_namespaces(prefix=("*", "verified")) == [VERIFIED, ("h", "verified")]
    assert await store.alist_namespaces(max_depth=1) == [("g",), ("h",)]
    assert await store.alist_namespaces(limit=1, offset=1) == [WORKING]
    deep = ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("g", "working", "deeper")),))
    assert await store.abatch([deep]) == [[]]


async def test_synchronous_methods_from_another_thread(store: ClearwellStore) -> None:
    await asyncio.to_thread(store.put, WORKING, "move", {"text": LONG})
    item = await asyncio.to_thread(store.get, WORKING, "move")
    assert item is not None
    assert item.value["text"] == LONG
    with pytest.raises(Conflict, match="asynchronously"):
        store.get(WORKING, "move")


async def test_verified_after_promotion(store: ClearwellStore, path: Path) -> None:
    await store.aput(WORKING, "move", {"text": LONG, "source": "minutes"})
    item = await store.aget(WORKING, "move")
    assert item is not None
    await path.memory.promote(LONG, group="g")
    (found,) = await store.asearch(("g",), query=QUESTION)
    assert found.value["tier"] == "verified"
