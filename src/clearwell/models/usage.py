"""The tokens that an OpenAI-compatible API reports with an answer."""

from typing import TypeGuard

from clearwell.ports import TokenMeter
from clearwell.records import TokenUsage


def report_usage(answer: object, meter: TokenMeter | None) -> None:
    """Report the tokens of an answer to the meter, if the API reports them."""
    if meter is not None and (usage := read_usage(answer)) is not None:
        meter.record(usage)


def read_usage(answer: object) -> TokenUsage | None:
    """Return the tokens of an answer, or None if it reports none that can be read."""
    reported = answer.get("usage") if isinstance(answer, dict) else None
    if not isinstance(reported, dict):
        return None
    read = reported.get("prompt_tokens", reported.get("total_tokens"))
    written = reported.get("completion_tokens")
    return TokenUsage(read, written if _is_count(written) else 0) if _is_count(read) else None


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and value >= 0
