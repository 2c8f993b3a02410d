"""The estimate of tokens against real tokenizers, whose counts are kept in tests/data/tokens.jsonl."""

import json
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearwell.flow.context.tokens import FunctionTokenCounter, TokenEstimator

KEPT = Path(__file__).parents[1] / "data" / "tokens.jsonl"
ROWS = [json.loads(line) for line in KEPT.read_text(encoding="utf-8").splitlines()]
COUNTER = TokenEstimator()
MODERN = ("o200k", "qwen", "deepseek")


@pytest.mark.parametrize("kind", sorted({row["kind"] for row in ROWS}))
def test_a_budget_holds_with_the_tokenizers_of_today(kind: str) -> None:
    """Over a context's worth of text the estimate is not below any of them, nor more than half above the dearest."""
    rows = [row for row in ROWS if row["kind"] == kind]
    estimated = sum(COUNTER.count(row["text"]) for row in rows)
    counted = {model: sum(row[model] for row in rows) for model in MODERN}
    dearest = max(counted.values())
    assert dearest * 0.97 <= estimated <= dearest * 1.5, (kind, estimated, counted)


def test_no_single_text_is_far_off() -> None:
    shares = defaultdict(list)
    for row in ROWS:
        shares[row["kind"]].append(COUNTER.count(row["text"]) / max(row[model] for model in MODERN))
    for kind, found in shares.items():
        assert min(found) > 0.75, (kind, min(found))


def test_chinese_is_not_counted_as_if_four_characters_were_a_token() -> None:
    assert COUNTER.count("支付网关的超时阈值是三十秒。") >= 10


@given(st.text(), st.text())
def test_a_longer_text_never_costs_less(first: str, second: str) -> None:
    assert COUNTER.count(first + second) >= COUNTER.count(first) - 1
    assert COUNTER.count("") == 0


def test_a_caller_may_count_by_itself() -> None:
    assert FunctionTokenCounter(len).count("abc") == 3
