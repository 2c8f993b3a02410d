"""Working memory answers the question, or says that it does not; recent gives the newest whatever they say."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from clearwell.errors import EmbedderUnavailable, InvalidInput
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.models import OfflineEmbedder
from clearwell.ports import Embedder
from clearwell.records import NewCapture, NewMemory, Origin, Source, Vector
from clearwell.settings import Settings
from clearwell.testing import WordEmbedder
from tests.path import AGENT, LONG, OTHER, PERSON, Path, said

OFFICE = [
    "The office plants are watered every second Thursday by the facilities team.",
    "Parking spaces in the basement are assigned by lottery twice a year.",
    "The canteen closes at three on the last working day of each month.",
    "New laptops are ordered through the self-service portal and arrive within ten days.",
    "Fire drills take place in spring and autumn and are announced a week before.",
    "The printer on the second floor only accepts badges that were renewed this year.",
    "Visitors are registered at the front desk and wear a yellow badge.",
    "Meeting rooms are released when nobody checks in within ten minutes.",
    "The newsletter is sent on the first Monday and written by a different team each time.",
    "Bicycles are repaired in the courtyard on Wednesdays at noon.",
    "Expense reports need a receipt for every amount above twenty euros.",
    "The archive moved to the ground floor and is open until five.",
]


EVERYTHING = Settings(min_width=0, ingress_checks=("confidence",), retrieve_timeout_seconds=60)


async def filled(*texts: str) -> Path:
    path = Path(settings=EVERYTHING)
    for text in texts:
        await path.memory.acting_as(AGENT).capture(said(text), wait=True)
        path.clock.forward(timedelta(minutes=1))
    return path


async def test_a_question_that_nothing_answers_gets_nothing_and_says_so() -> None:
    path = await filled(*OFFICE)
    for query in ("What is the capital of France?", "法国的首都是哪里？", "x"):
        found = await path.memory.acting_as(AGENT).retrieve(query, group="g")
        assert (found.items, found.left_out, found.note) == ((), len(OFFICE), "retrieval_left_out")


async def test_an_empty_memory_says_so() -> None:
    found = await Path().memory.acting_as(AGENT).retrieve("What is the capital of France?", group="g")
    assert (found.items, found.left_out, found.note) == ((), 0, "retrieval_empty")


async def test_the_best_match_comes_first_however_old_it_is() -> None:
    path = await filled(LONG, *OFFICE)
    found = await path.memory.acting_as(AGENT).retrieve(
        "When was the payment service moved to the new cluster?", group="g"
    )
    assert found.items[0].content == LONG
    relevances = [item.relevance or 0 for item in found.items]
    assert relevances == sorted(relevances, reverse=True)
    assert min(relevances) >= Settings().hot_threshold


async def test_recency_decides_between_equals() -> None:
    same = "Backups of the billing database finished without errors."
    path = await filled(f"{same} Run one.", *OFFICE[:3], f"{same} Run two.")
    found = await path.memory.acting_as(AGENT).retrieve("Did backups of the billing database finish?", group="g")
    assert [item.content[-8:] for item in found.items[:2]] == ["Run two.", "Run one."]


async def test_the_threshold_is_a_setting_and_an_option() -> None:
    path = await filled(LONG, *OFFICE)
    query = "payment service moved to the new cluster"
    for threshold in (0.0, 0.3, 0.6, 0.9):
        options = RetrieveOptions(hot_threshold=threshold, hot_limit=20, max_results=20)
        found = await path.memory.acting_as(AGENT).retrieve(query, group="g", options=options)
        assert all((item.relevance or 0) >= threshold for item in found.items)
        assert len(found.items) + found.left_out == len(OFFICE) + 1
    all_of_them = Path(settings=Settings(hot_threshold=0), working=path.admitter._working)
    assert len((await all_of_them.memory.acting_as(AGENT).retrieve("x", group="g")).items) == 10


async def test_recent_gives_the_newest_whatever_they_say() -> None:
    path = await filled(LONG, *OFFICE)
    await path.memory.promote(OTHER, group="g")
    options = RetrieveOptions(recent=12)
    found = await path.memory.acting_as(AGENT).retrieve("payment service", group="g", options=options)
    assert [item.content for item in found.items] == [*OFFICE[::-1], OTHER]
    assert found.items[0].relevance is not None


async def test_recent_needs_no_query_and_then_reads_working_memory_alone() -> None:
    path = await filled(LONG, *OFFICE)
    await path.memory.promote(OTHER, group="g")
    for query in ("", "  \n"):
        found = await path.memory.acting_as(AGENT).retrieve(query, group="g", options=RetrieveOptions(recent=3))
        assert [item.content for item in found.items] == OFFICE[:-4:-1]
        assert (found.sources, found.items[0].relevance) == ((Source.HOT,), None)
    for options in (None, RetrieveOptions(recent=3, sources=["cold"])):
        with pytest.raises(InvalidInput) as refused:
            await path.memory.acting_as(AGENT).retrieve("", group="g", options=options)
        assert (refused.value.code, refused.value.field) == ("text_blank", "query")


async def test_recent_counts_what_meets_the_conditions() -> None:
    path = await filled(*OFFICE)
    await path.memory.acting_as(AGENT).capture(replace(said(LONG), session_id="s9"), wait=True)
    await path.memory.acting_as(AGENT).capture(said(OTHER), wait=True)
    options = RetrieveOptions(recent=2, session_id="s9")
    assert [
        item.content for item in (await path.memory.acting_as(AGENT).retrieve("", group="g", options=options)).items
    ] == [LONG]


async def test_a_name_that_memory_does_not_know_speaks_against_an_answer() -> None:
    path = await filled("Ann keeps the keys of the storage room in her desk.", *OFFICE)

    async def relevance(query: str) -> float:
        options = RetrieveOptions(hot_threshold=0)
        return (await path.memory.acting_as(AGENT).retrieve(query, group="g", options=options)).items[0].relevance or 0

    assert await relevance("Where does Ann keep the keys?") > await relevance("Where does Bertram keep the keys?")


async def test_the_speaker_at_the_beginning_of_a_text_counts_as_its_author() -> None:
    turns = ["[9:30] Ann: The demo went well.", "[9:31] Bob: The demo went well."]
    path = await filled(*turns)
    options = RetrieveOptions(explain=True, hot_threshold=0)
    found = await path.memory.acting_as(AGENT).retrieve("How did the demo of Bob go?", group="g", options=options)
    parts = {item.content: item.explanation.parts for item in found.items if item.explanation}
    ann, bob = (parts[turn] for turn in turns)
    assert ann is not None
    assert bob is not None
    assert (ann.author, bob.author > 0) == (0, True)


async def test_entries_are_lifted_by_their_session_as_memories_are() -> None:
    path = Path(settings=EVERYTHING)
    for session, text in (("s1", "Who repairs the bicycles?"), ("s1", "Somebody in the courtyard."), ("s2", OFFICE[0])):
        await path.memory.acting_as(AGENT).capture(
            NewCapture(content=text, group_id="g", session_id=session, agent_id="a", metadata={"confidence": 0.9}),
            wait=True,
        )
    options = RetrieveOptions(explain=True, hot_threshold=0)
    found = await path.memory.acting_as(AGENT).retrieve("Who repairs the bicycles?", group="g", options=options)
    parts = {item.content: item.explanation.parts for item in found.items if item.explanation}
    answer = parts["Somebody in the courtyard."]
    assert answer is not None
    assert min(answer.neighbour, answer.answer, answer.session) > 0


BERTH = "The depth at berth 33 is 16.9 metres at low tide, measured by the survey vessel last week."
OTHER_MATTERS = [
    "For the lasagne, layer the pasta sheets with the sauce and bake it for forty minutes at 180 degrees.",
    "Parental leave is extended to twenty weeks for all employees from January onwards.",
    "The drum of the printer has to be replaced after thirty thousand pages.",
]


async def discussed(embedder: Embedder) -> Path:
    path = Path(settings=EVERYTHING, embedder=embedder)
    for number, text in enumerate([BERTH, *OTHER_MATTERS]):
        capture = NewCapture(content=text, group_id="g", session_id="s", agent_id=f"a{number}")
        await path.memory.acting_as(PERSON).capture(capture, wait=True)
    return path


async def test_other_matters_of_a_session_are_not_relevant() -> None:
    path = await discussed(OfflineEmbedder())
    found = await path.memory.acting_as(AGENT).retrieve("What is the depth at berth 33?", group="g")
    assert [item.content for item in found.items] == [BERTH]
    assert found.left_out == len(OTHER_MATTERS)


async def test_other_matters_of_a_session_are_not_relevant_without_the_model() -> None:
    embedder = InterruptedEmbedder()
    path = await discussed(embedder)
    embedder.is_down = True
    found = await path.memory.acting_as(AGENT).retrieve("What is the depth at berth 33?", group="g")
    assert ([item.content for item in found.items], found.degraded) == ([BERTH], ("embedder",))


class InterruptedEmbedder(WordEmbedder):
    is_down = False

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.is_down:
            raise EmbedderUnavailable("embedder_timeout", model=self.model)
        return await super().embed(texts)


async def test_what_was_promoted_is_not_shown_as_unverified_even_if_its_memory_is_not_found() -> None:
    path = await filled(LONG, *OFFICE)
    first = (await path.memory.acting_as(AGENT).retrieve("", group="g", options=RetrieveOptions(recent=20))).items[-1]
    assert first.content == LONG
    reworded = NewMemory(content="Payments run elsewhere now.", origin=Origin.WORKING, origin_id=first.id)
    await path.memory.promote_many([reworded], group="g")
    for options in (
        RetrieveOptions(sources=["hot"]),
        RetrieveOptions(cold_limit=0),
        RetrieveOptions(relevance_threshold=1.0),
        RetrieveOptions(recent=20),
    ):
        query = "When was the payment service moved to the new cluster?"
        found = await path.memory.acting_as(AGENT).retrieve(query, group="g", options=options)
        assert LONG not in [item.content for item in found.items]
    catch_up = await path.memory.acting_as(AGENT).retrieve("", group="g", options=RetrieveOptions(recent=20))
    assert len(catch_up.items) == len(OFFICE)


async def test_a_long_entry_whose_answer_is_verified_is_not_shown_for_it() -> None:
    path = await filled(f"{OFFICE[0]} {LONG} {OFFICE[1]}")
    question = "When was the payment service moved to the new cluster?"
    assert len((await path.memory.acting_as(AGENT).retrieve(question, group="g")).items) == 1
    await path.memory.promote(LONG, group="g")
    found = await path.memory.acting_as(AGENT).retrieve(question, group="g")
    assert [item.source for item in found.items] == [Source.COLD]
    other = await path.memory.acting_as(AGENT).retrieve("How are parking spaces in the basement assigned?", group="g")
    assert Source.HOT in [item.source for item in other.items]


REPORT = """# Report on the harbour

The survey of the harbour was finished in June by two vessels and a diver, and its results are in this report.

## Depths

- The depth at berth 33 is 16.9 metres at low tide, measured by the survey vessel.
- The depth at berth 34 is 11.2 metres at low tide, measured by the survey vessel.
- The turning basin has been dredged twice since the storm in February.

## Cranes

The two northern cranes lift forty tonnes each and are inspected every second month. The southern crane is out of order
since Tuesday, and its gearbox has been sent to the manufacturer. The rails of all cranes were aligned in autumn. The
control room has been moved to the second floor of the port office, where it has its own supply of power.
"""


@pytest.mark.parametrize(
    "question", ["What is the depth at berth 33?", "What has the southern crane's gearbox been sent for?"]
)
async def test_a_document_that_is_verified_in_chunks_is_not_shown_as_unverified(question: str) -> None:
    path = Path(settings=EVERYTHING.model_copy(update={"chunk_size": 300}), embedder=OfflineEmbedder())
    await path.memory.acting_as(AGENT).capture(said(REPORT), wait=True)
    assert [item.source for item in (await path.memory.acting_as(AGENT).retrieve(question, group="g")).items] == [
        Source.HOT
    ]
    assert (await path.memory.promote(REPORT, group="g")).chunks > 2
    found = await path.memory.acting_as(AGENT).retrieve(question, group="g")
    assert {item.source for item in found.items} == {Source.COLD}


async def test_an_entry_with_one_statement_is_not_shown_if_that_is_verified() -> None:
    path = await filled(f"Thanks for asking! {LONG}")
    await path.memory.promote(LONG, group="g")
    found = await path.memory.acting_as(AGENT).retrieve(LONG, group="g")
    assert [item.source for item in found.items] == [Source.COLD]


async def test_a_verified_memory_is_not_ranked_below_its_copies() -> None:
    path = await filled(f"{LONG.rstrip('.')} indeed.")
    await path.memory.promote(LONG, group="g")
    found = await path.memory.acting_as(AGENT).retrieve(LONG, group="g")
    assert [item.source for item in found.items] == [Source.COLD, Source.HOT]
    assert (found.items[1].relevance or 0) >= 0.85
