"""A language model behind any OpenAI-compatible ``POST {base_url}/chat/completions``."""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import structlog

from clearwell.errors import ConfigurationError, JudgeUnavailable
from clearwell.models.dialect import AnswerFormat, Dialect
from clearwell.models.json_api import ApiFailure, Fault, JsonApi, build_url, extract_message, validate_key
from clearwell.models.usage import report_usage
from clearwell.ports import AnswerForm, ChatMessage, TokenMeter

log = structlog.get_logger(__name__)
SAID_CHARS: Final = 200
MAX_BYTES: Final = 1024 * 1024
ASK_ANEW_SECONDS: Final = 6 * 3600.0
"""After this time, a schema is sent again to a server that refused one, which may have been updated."""
CODES: Final = {
    Fault.TIMEOUT: "judge_timeout",
    Fault.UNREACHABLE: "judge_unreachable",
    Fault.BROKEN_OFF: "judge_broken_off",
    Fault.RATE_LIMITED: "judge_rate_limited",
    Fault.SERVER_ERROR: "judge_server_error",
    Fault.KEY_REFUSED: "judge_key_refused",
    Fault.NOT_FOUND: "judge_not_found",
    Fault.REFUSED: "judge_refused",
    Fault.TOO_LARGE: "judge_answer_too_large",
    Fault.CLOSED: "judge_closed",
}
UNPAID: Final = frozenset(
    {Fault.UNREACHABLE, Fault.RATE_LIMITED, Fault.KEY_REFUSED, Fault.NOT_FOUND, Fault.REFUSED, Fault.CLOSED}
)
"""Faults after which no model has run, so that the call costs nothing."""
CUT: Final = frozenset({"length", "max_tokens"})
HOUR: Final = 3600.0
DAY: Final = 24 * HOUR


class CallBudget:
    """Allows ``calls`` in any window of ``seconds``. The window slides: unused calls cannot be saved up."""

    def __init__(self, calls: int, *, monotonic: Callable[[], float], seconds: float = HOUR) -> None:
        self.calls: Final = calls
        self._seconds = seconds
        self._monotonic = monotonic
        self._spent: deque[float] = deque()

    def wait(self) -> float:
        """Return the seconds until the next call is allowed; 0 if it is allowed now."""
        now = self._monotonic()
        while self._spent and self._spent[0] <= now - self._seconds:
            self._spent.popleft()
        return 0.0 if len(self._spent) < self.calls else self._spent[0] + self._seconds - now

    def spend(self) -> float:
        """Count a call; returns its time, by which it can be refunded."""
        now = self._monotonic()
        self._spent.append(now)
        return now

    def refund(self, spent: float) -> None:
        """Refund a call that cost nothing."""
        if spent in self._spent:
            self._spent.remove(spent)


class OpenAIChat:
    """Asks a chat API, ``concurrency`` questions at a time and ``budget_per_hour`` in any hour.

    ``budget_per_day`` bounds the questions of any 24 hours; 0 is no limit.

    A question is sent once. Only if the server refuses a schema, or another part of the dialect, is it sent again
    without that part; what the server accepts is remembered.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str | None = None,
        timeout_seconds: float = 20.0,
        concurrency: int = 2,
        budget_per_hour: int = 600,
        budget_per_day: int = 0,
        max_tokens: int = 1000,
        longest_wait_seconds: float = 900.0,
        monotonic: Callable[[], float] = time.monotonic,
        meter: TokenMeter | None = None,
    ) -> None:
        if not model.strip():
            raise ConfigurationError("judge_model_missing")
        self._key = validate_key(api_key, otherwise="judge_key_invalid")
        self._api = JsonApi(
            build_url(base_url, "/chat/completions", otherwise="judge_address_invalid"),
            key=self._key,
            timeout_seconds=timeout_seconds,
            max_bytes=MAX_BYTES,
            said_chars=SAID_CHARS,
        )
        self._model = model.strip()
        self._max_tokens = max_tokens
        self._longest_wait = longest_wait_seconds
        self._slots = asyncio.Semaphore(concurrency)
        self._budgets = {"judge_budget_spent": CallBudget(budget_per_hour, monotonic=monotonic)}
        if budget_per_day:
            self._budgets["judge_day_spent"] = CallBudget(budget_per_day, monotonic=monotonic, seconds=DAY)
        self._monotonic = monotonic
        self._meter = meter
        self._dialect = Dialect()
        self._forms_in_words: set[str] = set()
        self._proven_at: float | None = None

    @property
    def model(self) -> str:
        return self._model

    async def complete(self, messages: Sequence[ChatMessage], *, form: AnswerForm | None = None) -> str:
        async with self._slots:
            words, answer_format = await self._ask_within_budget(messages, form)
            if (
                form is None
                or form.is_in_words is None
                or answer_format is AnswerFormat.WORDS
                or not form.is_in_words(words)
            ):
                return words
            # The server accepts the form but the model ignores it: from now on this form is asked for in words.
            self._forms_in_words.add(form.name)
            words, _ = await self._ask_within_budget(messages, form)
            return words

    async def close(self) -> None:
        await self._api.close()

    def _spend(self) -> list[float]:
        waits = {code: budget.wait() for code, budget in self._budgets.items()}
        code = max(waits, key=waits.__getitem__)
        if wait := waits[code]:
            budget = self._budgets[code].calls
            raise self._make_error(code, retry_after=wait, budget=budget, seconds=max(1, round(wait)))
        return [budget.spend() for budget in self._budgets.values()]

    async def _ask_within_budget(
        self, messages: Sequence[ChatMessage], form: AnswerForm | None
    ) -> tuple[str, AnswerFormat]:
        """Ask within the budget; returns the model's text, and the format that was asked for."""
        spent = self._spend()
        try:
            content, answer_format = await self._ask(messages, form)
        except ApiFailure as failure:
            if failure.fault in UNPAID:
                for budget, at in zip(self._budgets.values(), spent, strict=True):
                    budget.refund(at)
            raise self._translate_failure(failure) from failure
        return self._read_answer(content), answer_format

    async def _ask(self, messages: Sequence[ChatMessage], form: AnswerForm | None) -> tuple[bytes, AnswerFormat]:
        """Return the body of a successful answer. Each repetition simplifies the dialect, so there are few."""
        dialect, proven = self._current_dialect()
        worded = form is not None and form.name in self._forms_in_words
        while True:
            attempt = replace(dialect, answer_format=AnswerFormat.WORDS) if worded else dialect
            try:
                content = await self._api.post(
                    attempt.make_body(self._model, messages, form=form, max_tokens=self._max_tokens)
                )
            except ApiFailure as failure:
                simpler = attempt.simplify_after(failure, formed=form is not None, proven=proven)
                if simpler is None:
                    raise
                dialect = simpler
            else:
                self._learn(dialect, formed=form is not None and not worded)
                return content, attempt.answer_format

    def _current_dialect(self) -> tuple[Dialect, bool]:
        """Return the dialect to start with, and whether the server has accepted it recently."""
        old = self._proven_at is not None and self._monotonic() - self._proven_at >= ASK_ANEW_SECONDS
        if old and (self._forms_in_words or self._dialect != Dialect()):
            self._dialect, self._proven_at = Dialect(), None
            self._forms_in_words.clear()
        return self._dialect, self._proven_at is not None

    def _learn(self, dialect: Dialect, *, formed: bool) -> None:
        """Remember an accepted dialect. Only a question with a form proves the answer format."""
        if not formed:
            self._dialect = replace(dialect, answer_format=self._dialect.answer_format)
            return
        if self._proven_at is None or dialect != self._dialect:
            self._proven_at = self._monotonic()
        self._dialect = dialect

    def _read_answer(self, content: bytes) -> str:
        """Read the model's text from the body of an answer. Raises JudgeUnavailable."""
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._make_error("judge_answer_unreadable") from error
        report_usage(answer, self._meter)
        match answer:
            case {"choices": [{"message": dict(message)} as choice, *_]}:
                return self._read_message(message, choice.get("finish_reason"))
            case {"choices": []}:
                raise self._make_error("judge_answer_empty")
            case {"error": _}:
                said = extract_message(content, secret=self._key, limit=SAID_CHARS)
                raise self._make_error("judge_server_error", status=200, said=said)
            case _:
                raise self._make_error("judge_answer_unreadable")

    def _read_message(self, message: Mapping[str, object], finish_reason: object) -> str:
        if message.get("refusal") or finish_reason == "content_filter":
            raise self._make_error("judge_declined")
        if isinstance(finish_reason, str) and finish_reason.lower() in CUT:
            raise self._make_error("judge_answer_cut")
        content = message.get("content")
        words = _join_parts(content) if isinstance(content, list) else content
        if words is None or (isinstance(words, str) and not words.strip()):
            raise self._make_error("judge_answer_empty")
        if not isinstance(words, str):
            raise self._make_error("judge_answer_unreadable")
        return words

    def _translate_failure(self, failure: ApiFailure) -> JudgeUnavailable:
        asked = failure.retry_after
        too_long = asked is not None and asked > self._longest_wait
        return self._make_error(
            "judge_asks_to_wait" if too_long else CODES[failure.fault],
            retry_after=self._longest_wait if too_long else asked,
            asked=None if asked is None else round(asked),
            wait=round(self._longest_wait),
            said=failure.said,
            seconds=self._api.timeout,
            status=failure.status,
            limit=MAX_BYTES,
        )

    def _make_error(
        self, code: str, *, retry_after: float | None = None, said: str = "", **params: object
    ) -> JudgeUnavailable:
        # What the server said is not logged: it may repeat the text.
        if code != "judge_budget_spent":
            log.warning("chat model gave no answer", reason=code, where=self._api.where, status=params.get("status"))
        detail = {"where": self._api.where, "said": said or "–"}
        return JudgeUnavailable(code, retry_after=retry_after, detail=detail, model=self._model, **params)


def _join_parts(parts: list[object]) -> str:
    """Join the text parts of an answer. Other parts, such as reasoning, are ignored."""
    texts = [part["text"] for part in parts if isinstance(part, dict) and part.get("type") == "text" and "text" in part]
    return "".join(text for text in texts if isinstance(text, str))
