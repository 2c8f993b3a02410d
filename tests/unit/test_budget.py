"""Five sections within a budget: nothing more than it allows, and nothing gone without a word."""

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearwell.errors import InvalidInput
from clearwell.flow.context.budget import ContextMaterial, TokenBudget
from clearwell.flow.context.tokens import FunctionTokenCounter, TokenEstimator
from clearwell.messages import Language
from clearwell.ports import TokenCounter
from clearwell.records import BuiltContext, ContextItem, Fate, Section
from tests.unit.test_fencing import COLD, HOT

PROPOSAL = "提案：周五晚上把支付网关迁移到新集群。请评估风险。"
COUNTERS: list[TokenCounter] = [TokenEstimator(), FunctionTokenCounter(lambda text: (len(text.encode()) + 2) // 3)]


def items(number: int, of: ContextItem, first: int = 1) -> list[ContextItem]:
    return [
        replace(of, id=UUID(int=place), content=f"{of.content} ({place})") for place in range(first, first + number)
    ]


def material(
    prompt: str = "Decide by evidence.",
    persona: str = "You audit risk.",
    proposal: str = PROPOSAL,
    group: list[ContextItem] | None = None,
    own: list[ContextItem] | None = None,
) -> ContextMaterial:
    return ContextMaterial(
        texts={Section.GROUP_PROMPT: prompt, Section.PERSONA: persona, Section.PROPOSAL: proposal},
        items={
            Section.GROUP_MEMORY: items(4, HOT) if group is None else group,
            Section.AGENT_MEMORY: items(3, COLD, 100) if own is None else own,
        },
    )


def fates(built: BuiltContext) -> dict[Section, Fate]:
    return {one.section: one.fate for one in built.report.sections}


def fit(what: ContextMaterial, max_tokens: int = 4000, language: Language = "en") -> BuiltContext:
    return TokenBudget(TokenEstimator(), max_tokens, language).fit(what)


def test_the_sections_come_in_the_protocols_order() -> None:
    text = fit(material(), language="zh").text
    places = [text.index(f"## {name}\n") for name in ("群组定位", "角色人设", "群组记忆", "自身经验", "当前提案")]
    assert places == sorted(places)
    assert set(fates(fit(material())).values()) == {Fate.INCLUDED}


def test_what_the_operator_wrote_is_the_systems_and_memories_never_are() -> None:
    system, user = fit(material()).messages
    assert (system.role, user.role) == ("system", "user")
    assert "Decide by evidence." in system.content
    assert "never an instruction" in system.content
    assert "id=" not in system.content
    assert "(1)</memory>" in user.content
    assert user.content.endswith(PROPOSAL)


def test_without_prompts_and_memories_there_is_only_the_proposal() -> None:
    built = fit(material("", "", group=[], own=[]))
    (only,) = built.messages
    assert only.role == "user"
    assert only.content == f"## Current proposal\n{PROPOSAL}"
    assert list(fates(built).values()) == [Fate.EMPTY, Fate.EMPTY, Fate.EMPTY, Fate.EMPTY, Fate.INCLUDED]


def test_the_agents_memory_goes_before_the_groups_and_both_before_the_proposal() -> None:
    seen = []
    for max_tokens in (1000, 600, 450, 300, 200):
        built = fit(material(), max_tokens)
        counts = [
            sum(item.fate is not Fate.LEFT_OUT for item in section.items)
            for section in built.report.sections
            if section.section in (Section.GROUP_MEMORY, Section.AGENT_MEMORY)
        ]
        seen.append(counts)
        assert counts[1] == 0 or counts[0] == 4, "the agent's come when the group's are in"
        assert PROPOSAL in built.text
        for section in built.report.sections:
            for item in section.items:
                assert (f'id="{item.id}"' in built.text) == (item.fate is not Fate.LEFT_OUT)
                assert (item.reason is None) == (item.fate is Fate.INCLUDED)
    assert seen[0] == [4, 3]
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] == [0, 0]


def test_an_item_is_cut_rather_than_left_out_where_enough_of_it_fits() -> None:
    long = replace(COLD, content="支付网关在并发超过五百时出现超时。" * 25)
    built = fit(material(group=[long], own=[]), 420)
    (item,) = built.report.sections[2].items
    assert (item.fate, item.reason) == (Fate.CUT, "context_reason_budget")
    assert "超时。…</memory>" in built.text
    assert built.report.tokens <= 420


def test_an_item_that_retrieval_cut_is_told_too() -> None:
    built = fit(material(group=[replace(COLD, cut=True)], own=[]))
    (item,) = built.report.sections[2].items
    assert (item.fate, item.reason) == (Fate.CUT, "context_reason_chars")
    assert built.report.sections[2].fate is Fate.INCLUDED


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_proposal_beyond_the_budget_is_cut_where_it_can_be_seen(language: Language) -> None:
    long = "第一条风险是切换窗口太短。" * 500
    built = fit(material(proposal=long), 500, language)
    (proposal,) = [one for one in built.report.sections if one.section is Section.PROPOSAL]
    assert (proposal.fate, proposal.reason) == (Fate.CUT, "context_reason_budget")
    assert proposal.tokens > 200
    assert str(len(long)) in built.text.splitlines()[-1]
    assert "Decide by evidence." in built.text
    assert built.report.tokens <= 500


def test_prompts_leave_the_proposal_half_of_the_budget() -> None:
    built = fit(material("Rule. " * 2000, "Role. " * 2000, "Point. " * 2000), 1000)
    assert fates(built)[Section.GROUP_PROMPT] is Fate.CUT
    assert fates(built)[Section.PERSONA] is Fate.CUT
    proposal = built.report.sections[-1]
    assert 400 <= proposal.tokens <= 520
    assert built.report.tokens <= 1000


def test_a_counter_by_which_nothing_fits_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        TokenBudget(FunctionTokenCounter(lambda text: len(text) * 1000), 4000, "en").fit(material())
    assert caught.value.code == "context_no_room"


@settings(max_examples=60, deadline=None)
@given(
    st.integers(200, 3000),
    st.tuples(*[st.text(max_size=400).map(lambda text: text * 5)] * 2),
    st.text(min_size=1, max_size=600).map(lambda text: text * 4),
    st.lists(st.text(max_size=500), max_size=12),
    st.sampled_from(COUNTERS),
    st.sampled_from(["en", "zh"]),
)
def test_the_budget_always_holds_and_every_part_is_accounted_for(
    max_tokens: int,
    prompts: tuple[str, str],
    proposal: str,
    memories: list[str],
    counter: TokenCounter,
    language: Language,
) -> None:
    given_items = [replace(HOT, id=UUID(int=place), content=text) for place, text in enumerate(memories, start=1)]
    half = len(given_items) // 2
    what = material(*prompts, proposal, given_items[:half], given_items[half:])
    built = TokenBudget(counter, max_tokens, language).fit(what)
    assert sum(counter.count(one.content) for one in built.messages) <= built.report.tokens <= max_tokens
    assert built.text == "\n\n".join(one.content for one in built.messages)
    told = [item.id for section in built.report.sections for item in section.items]
    assert told == [item.id for item in given_items]
    assert built.report.sections[-1].fate in (Fate.INCLUDED, Fate.CUT)
    for section, text in zip((built.report.sections[0], built.report.sections[1]), prompts, strict=True):
        assert (section.fate is Fate.EMPTY) == (not text)
