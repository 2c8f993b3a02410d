"""The context builder and the memory-retrieval node on real stores with the real model, in Chinese and English."""

from dataclasses import replace

import pytest
from pydantic import SecretStr

from clearwell.app import Clearwell
from clearwell.flow.context.builder import ContextRequest
from clearwell.flow.context.retrieval_node import NodeOptions
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.messages import Language
from clearwell.models import OfflineEmbedder
from clearwell.records import Admission, EventType, Fate, GroupChange, NewCapture, Section
from clearwell.settings import Settings
from tests.conftest import opened
from tests.path import AGENT, PERSON

PROPOSAL = "提案：周五晚上把支付网关迁移到新集群，停机不超过十分钟。请评估风险。"
KNOWN = "支付网关与银行的合同规定，每次停机不得超过十分钟，且须提前三天通知。"
OWN = "我上次评审时发现，支付网关迁移期间消息队列写满会丢失回调通知。"
UNRELATED = "食堂从下周一开始供应早餐，时间是七点到九点。"
SAID = "评审发现：支付网关在并发超过五百时出现超时，建议迁移前先扩容并补充压测报告。"
CONCLUSION = "主席结论：支付网关只有在预演成功之后才允许迁移到新集群，由运维负责人签字。"
OF_A1 = RetrieveOptions(agent_id="a1")


async def fill(clearwell: Clearwell) -> None:
    memory = clearwell.memory
    await memory.acting_as(PERSON).change_group(GroupChange(system_prompt="你们是支付平台的架构评审组。"), group="g")
    await memory.acting_as(PERSON).put_agent("a1", persona="你是风险审计员。", group="g")
    for text, agent_id in ((KNOWN, None), (UNRELATED, None), (OWN, "a1")):
        await memory.acting_as(PERSON).promote(text, group="g", agent_id=agent_id)
    receipt = await memory.acting_as(AGENT).capture(said(SAID), wait=True)
    assert receipt.admission is Admission.ADMITTED


def said(text: str, **changed: str) -> NewCapture:
    return replace(NewCapture(content=text, group_id="g", session_id="s1", agent_id="a1"), **changed)  # type: ignore[arg-type]


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_a_context_is_built_and_an_agent_that_repeats_it_says_nothing_new(
    clearwell: Clearwell, language: Language
) -> None:
    await fill(clearwell)
    request = ContextRequest(proposal=PROPOSAL, language=language, options=OF_A1)
    built = await clearwell.memory.acting_as(AGENT).build_context(request, group="g")
    order = [built.text.index(part) for part in ("架构评审组", "风险审计员", KNOWN, OWN, PROPOSAL)]
    assert order == sorted(order)
    assert built.text.index(KNOWN) < built.text.index(UNRELATED)
    assert built.degraded == ()
    assert ("✅ 已验证" in built.text) == (language == "zh")
    await clearwell.recalls.flush()
    matter = built.messages[1].content
    for repeated in (matter[: matter.rindex("## ")], KNOWN, OWN, f"综上所述，{SAID}"):
        receipt = await clearwell.memory.acting_as(AGENT).capture(said(repeated), wait=True)
        assert receipt.admission is Admission.REFUSED
        assert "verdict_echo" in [one.reason for one in receipt.verdicts], repeated
    own = "我认为切换窗口应当提前到凌晨两点，因为那时的交易量只有白天的百分之三。"
    mixed = f"{matter[: matter.rindex('## ')]}\n{own}"
    receipt = await clearwell.memory.acting_as(AGENT).capture(said(mixed), wait=True)
    assert receipt.admission is Admission.ADMITTED
    entry = (await clearwell.memory.acting_as(AGENT).working_memory(group="g"))[0]
    assert entry.content.endswith(own)
    assert not [text for text in (KNOWN, OWN, SAID, "##", "✅") if text in entry.content]


async def test_a_tight_budget_leaves_memories_out_and_says_which(clearwell: Clearwell) -> None:
    await fill(clearwell)
    request = ContextRequest(proposal=PROPOSAL, language="zh", options=OF_A1, max_tokens=200)
    built = await clearwell.memory.acting_as(AGENT).build_context(request, group="g")
    assert PROPOSAL in built.text
    assert built.report.tokens <= 200
    left_out = [item for one in built.report.sections for item in one.items if item.fate is Fate.LEFT_OUT]
    assert left_out
    assert all(str(item.id) not in built.text for item in left_out)


async def test_filters_of_retrieval_hold_in_a_context(clearwell: Clearwell) -> None:
    await fill(clearwell)
    await clearwell.memory.acting_as(PERSON).promote(CONCLUSION, group="g", metadata={"node_type": "chair"})
    options = replace(OF_A1, filters={"node_type": "chair"})
    built = await clearwell.memory.acting_as(AGENT).build_context(
        ContextRequest(proposal=PROPOSAL, options=options), group="g"
    )
    (group,) = [one for one in built.report.sections if one.section is Section.GROUP_MEMORY]
    assert len(group.items) == 1
    assert CONCLUSION in built.text


async def test_without_working_memory_the_verified_part_is_built(
    settings: Settings, offline_embedder: OfflineEmbedder
) -> None:
    """Nothing listens at port 1."""
    async with opened(settings, offline_embedder) as whole:
        await fill(whole)
    down = settings.model_copy(update={"redis_url": SecretStr("redis://127.0.0.1:1/0")})
    async with opened(down, offline_embedder) as clearwell:
        built = await clearwell.memory.acting_as(AGENT).build_context(
            ContextRequest(proposal=PROPOSAL, options=OF_A1), group="g"
        )
        assert built.degraded == ("working_memory",)
        assert KNOWN in built.text
        assert SAID not in built.text
        run = await clearwell.memory.acting_as(AGENT).retrieval_node(group="g").run({"topic": "支付网关迁移的停机时间"})
        (told,) = [one for one in run.events if one.type is EventType.MEMORY_RETRIEVED]
        assert told.data["degraded"] == ["working_memory"]
        assert KNOWN in str(run.output["history_context"])


async def test_the_node_finds_the_matter_and_the_conclusions(clearwell: Clearwell) -> None:
    await fill(clearwell)
    memory = clearwell.memory
    await memory.acting_as(PERSON).promote(CONCLUSION, group="g", session_id="s0", metadata={"node_type": "chair"})
    verdict = "裁决：年度促销期间任何人不得部署支付网关，违者由值班经理撤销变更并记录在案。"
    await memory.acting_as(AGENT).capture(said(verdict, node_type="verdict", session_id="s0"), wait=True)
    state = {"topic": "支付网关迁移到新集群的停机与通知要求", "session_id": "s2"}
    node = memory.acting_as(AGENT).retrieval_node(group="g", options=NodeOptions(relevance_threshold=0.3))
    history = str((await node(state))["history_context"])
    for text in (KNOWN, CONCLUSION, verdict, SAID):
        assert text in history
    assert OWN not in history, "an agent's own experience is for that agent"
    without = memory.acting_as(AGENT).retrieval_node(
        group="g", options=NodeOptions(relevance_threshold=0.3, include_verdicts=False, agent_id="a1")
    )
    history = str((await without(state))["history_context"])
    assert CONCLUSION not in history
    assert verdict not in history
    assert KNOWN in history
    assert OWN in history
    strict = memory.acting_as(AGENT).retrieval_node(group="g")
    assert UNRELATED not in str((await strict(state))["history_context"])


async def test_what_the_node_returns_is_kept_but_never_admitted(clearwell: Clearwell) -> None:
    await fill(clearwell)
    output = await clearwell.memory.acting_as(AGENT).retrieval_node(group="g")({"topic": KNOWN})
    new = said(str(output["history_context"]), node_type="memory_retrieval")
    receipt = await clearwell.memory.acting_as(AGENT).capture(new, wait=True)
    assert receipt.admission is Admission.REFUSED
    assert receipt.verdicts[0].reason == "verdict_node_type"
