"""The tokens that an OpenAI-compatible API reports with an answer."""

from clearwell.ports import TokenMeter
from clearwell.records import TokenUsage


def report_usage(answer: object, meter: TokenMeter | None) -> None:
    """Tell the meter the tokens of an answer, if the API reports them."""
    if meter is not None and (usage := read_usage(answer)) is not None:
        meter.record(usage)


def read_usage(answer: object) -> TokenUsage | None:
    """Return the tokens of an answer, or None if it reports none that can be read."""
    match answer:
        case {"usage": {"prompt_tokens": int(taken)} as usage} if taken >= 0:
            made = usage.get("completion_tokens", 0)
            return TokenUsage(taken, made if isinstance(made, int) and made >= 0 else 0)
        case {"usage": {"total_tokens": int(total)}} if total >= 0:
            return TokenUsage(total)
        case _:
            return None
