"""What only one of two texts says: it must never be dropped, and what it denies is a conflict."""

import re

import pytest

from clearwell.comparison import RuleComparison, read_features
from clearwell.records import Relation

compare = RuleComparison().compare
ALIKE = 0.96
PAGE = "The checkout page {} the card number of the customer in the local session cache."
GATEWAY = "都灵工厂的网关{}运行新固件，并且每个小时上报一次自身的状态。"
ORDERS = "The {}orders of {}customers {} exported to the accounting system every {}evening."
CONTRACTORS = "外部承包商{}使用自己的笔记本电脑连接预发布环境的数据库。"

DENIED = [
    *(
        (PAGE.format("stores"), PAGE.format(verb))
        for verb in (
            "avoids storing", "stopped storing", "forbids storing", "ceased to store", "rarely stores", "bans storing",
            "abandoned storing", "does NOT store", "doesnt store",
        )
    ),
    *(
        (GATEWAY.format(""), GATEWAY.format(word))
        for word in ("拒绝", "停止", "避免", "放弃", "难以", "暂停", "差点", "杜绝", "取消", "禁止")
    ),
    *((CONTRACTORS.format(may), CONTRACTORS.format(no)) for may in ("", "可以") for no in ("禁止", "严禁", "不得")),
    (CONTRACTORS.format("可以"), "禁止" + CONTRACTORS.format("")),
    (CONTRACTORS.format("可以"), "严禁" + CONTRACTORS.format("")),
    (PAGE.format("stores"), "It is false that the" + PAGE.format("stores").removeprefix("The")),
    (PAGE.format("stores"), PAGE.format("stores").replace(" in ", " outside ")),
    (PAGE.format("stores"), PAGE.format("stores everything but")),
    ("The job starts if the check reports an error.", "The job starts unless the check reports an error."),
    ("如果夜间检查报告了错误，导出任务就会启动。", "除非夜间检查报告了错误，导出任务就会启动。"),
    ("Restart the pods once the migration is complete.", "Restart the pods before the migration is complete."),
]  # fmt: skip
SIGNS = [
    ("The alert fires when the latency is {} 200 ms for long.", ">", "<"),
    ("当接口的延迟 {} 200 毫秒时会触发告警。", ">", "<"),
    ("当接口的延迟 {} 200 毫秒时会触发告警。", "≥", "≤"),
    ("The queue depth must be {} 100 before scaling begins.", "≥", "≤"),
    ("The check passes when the status code {} 200 for all hosts.", "==", "!="),
    ("The result of the trial is p {} 0.05 in both groups.", "<", ">"),
    ("function foo(a, b) returns a {} b times two", "+", "-"),
    ("SELECT name FROM users WHERE age {} 30 ORDER BY name", ">", "<"),
    ("Traffic flows gateway {} billing in this zone.", "->", "<-"),
]
QUALIFIED = [
    (ORDERS.format("", "", "are", ""), ORDERS.format(*words))
    for words in (
        ("paid ", "", "are", ""), ("", "former ", "are", ""), ("", "", "are probably", ""),
        ("", "", "are manually", ""),
        ("", "", "are wrongly", ""), ("", "", "are", "other "), ("", "", "are almost", ""), ("", "", "should be", ""),
        ("", "Spanish ", "are", ""),
    )
] + [
    ("批发客户的订单会在每天晚上自动导出到财务系统并生成对账单。", text)
    for text in (
        "西班牙批发客户的订单会在每天晚上自动导出到财务系统并生成对账单。",
        "前批发客户的订单会在每天晚上自动导出到财务系统并生成对账单。",
        "批发客户的已付款订单会在每天晚上自动导出到财务系统并生成对账单。",
        "批发客户的订单会在工作日每天晚上自动导出到财务系统并生成对账单。",
        "批发客户的大部分订单会在每天晚上自动导出到财务系统并生成对账单。",
        "批发客户的订单曾经在每天晚上自动导出到财务系统并生成对账单。",
        "批发客户的订单可能在每天晚上自动导出到财务系统并生成对账单。",
        "批发客户的订单会在每隔一天晚上自动导出到财务系统并生成对账单。",
    )
] + [
    ("The gateway runs the new firmware in every plant.", "Does the gateway run the new firmware in every plant?"),
    (
        "Tags of this article: cache, latency, gateway, billing, invoice, refund, ledger, archive.",
        "Tags of this article: ledger, archive, cache, latency, search, ranking, index, crawler.",
    ),
    (
        "待办事项：修复登录页面、更新文档、升级数据库、清理日志、备份配置、检查告警。",
        "待办事项：检查告警、备份配置、更换证书、扩容磁盘、修复登录页面、更新文档。",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("known", "new"), DENIED)
def test_what_one_side_denies_is_a_conflict(known: str, new: str) -> None:
    assert compare(new, known, ALIKE).relation is Relation.CONFLICT
    assert compare(known, new, ALIKE).relation is Relation.CONFLICT


@pytest.mark.parametrize(("text", "one", "other"), SIGNS)
def test_another_sign_is_a_conflict(text: str, one: str, other: str) -> None:
    assert compare(text.format(one), text.format(other), ALIKE).relation is Relation.CONFLICT
    assert compare(text.format(one), text.format(one), ALIKE).relation is Relation.SAME


@pytest.mark.parametrize(("known", "new"), QUALIFIED)
def test_what_one_side_qualifies_is_not_the_same(known: str, new: str) -> None:
    assert compare(new, known, ALIKE).relation is not Relation.SAME
    assert compare(known, new, ALIKE).relation is not Relation.SAME


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("部署顺序依次为：网关、账单服务、通知服务。", "部署顺序依次为：通知服务、账单服务、网关。"),
        ("The deployment order is: gateway, billing, search.", "The deployment order is: search, billing, gateway."),
    ],
)
def test_items_in_another_order_are_a_conflict_where_order_is_said_to_count(known: str, new: str) -> None:
    assert compare(new, known, ALIKE).reason == "conflict_order"


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("合同金额为壹佰贰拾万元整，一个月内付清。", "合同金额为120万元整，一个月内付清。"),
        ("这台设备的价格是廿万元整。", "这台设备的价格是二十万元整。"),
        ("负载均衡器会在九十秒之后断开空闲连接。", "負載均衡器會在九十秒之後斷開空閒連接。"),
        ("禁止外部承包商连接预发布环境的数据库。", "不允许外部承包商连接预发布环境的数据库。"),
        ("Latency is > 200 ms on <b>both</b> hosts.", "Latency is more than 200 ms on <b>both</b> hosts."),
        ("The order was shipped on Friday.", "On Friday, the order was shipped."),
        ("The upload takes nearly ten minutes today.", "The upload takes ten minutes today."),
    ],
)
def test_the_same_in_another_form_is_the_same(known: str, new: str) -> None:
    assert compare(new, known, ALIKE).relation is compare(known, new, ALIKE).relation is Relation.SAME


@pytest.mark.parametrize(("known", "new"), [*DENIED, *((text.format(a), text.format(b)) for text, a, b in SIGNS)])
def test_quotes_stand_in_the_text(known: str, new: str) -> None:
    params = compare(new, known, ALIKE).params
    for text, quote in ((new, params["new"]), (known, params["known"])):
        assert all(part in read_features(text).text for part in re.split(" ?… ?", quote))


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("The hall holds at most 40 guests on a normal day.", "The hall holds no more than 40 guests on a normal day."),
        ("Book the hall at least two weeks ahead.", "Book the hall no less than two weeks ahead."),
        ("We have just 15 minutes of the break for it.", "Of the break, no more than 15 minutes are left for it."),
        ("大厅平时最多容纳40位客人。", "大厅平时容纳不超过40位客人。"),
    ],
)
def test_a_bound_that_is_said_with_a_negation_denies_nothing(known: str, new: str) -> None:
    assert compare(new, known, ALIKE).relation is not Relation.CONFLICT
    assert compare(known, new, ALIKE).relation is not Relation.CONFLICT


def test_swapped_values_are_quoted_as_they_are_written() -> None:
    known, new = "Team A closed 12 tickets and team B closed 30.", "Team A closed 30 tickets and team B closed 12."
    params = compare(new, known, ALIKE).params
    assert params["new"] in new
    assert params["known"] in known


SENTENCES = "".join(f"Pump {number} stands in hall {number % 7} and was checked. " for number in range(120))


def test_long_texts_are_compared_where_they_differ() -> None:
    known, new = f"{SENTENCES} The final budget is 40 euros.", f"{SENTENCES} The final budget is 90 euros."
    assert len(SENTENCES) > 4_000
    assert compare(new, known, 1.0).reason == "conflict_number"
    assert compare(known.upper(), known, 1.0).reason == "same_text"
    assert compare(known, SENTENCES, 1.0).relation is not Relation.SAME
    third = len(SENTENCES) // 3
    replaced = SENTENCES[:-third] + "Other things are told here. " * 80
    assert compare(replaced, SENTENCES, 1.0).relation is not Relation.SAME
