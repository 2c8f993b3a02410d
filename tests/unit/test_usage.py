"""Tokens that an API reports: what can be read is counted, anything else is as if there were no report."""

import pytest

from clearwell.models.usage import read_usage
from clearwell.records import TokenUsage


@pytest.mark.parametrize(
    ("answer", "usage"),
    [
        ({"usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}}, TokenUsage(12, 3)),
        ({"usage": {"prompt_tokens": 12, "total_tokens": 12}}, TokenUsage(12)),
        ({"usage": {"total_tokens": 12}}, TokenUsage(12)),
        ({"usage": {"prompt_tokens": 12, "completion_tokens": None}}, TokenUsage(12)),
        ({"usage": {"prompt_tokens": 12, "completion_tokens": -1}}, TokenUsage(12)),
        ({"usage": {"prompt_tokens": -12}}, None),
        ({"usage": {"prompt_tokens": "12"}}, None),
        ({"usage": {"prompt_tokens": True}}, None),
        ({"usage": {}}, None),
        ({"usage": None}, None),
        ({"usage": [1]}, None),
        ({}, None),
        ([], None),
        ("usage", None),
    ],
)
def test_only_counts_of_tokens_are_read(answer: object, usage: TokenUsage | None) -> None:
    assert read_usage(answer) == usage
