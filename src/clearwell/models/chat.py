"""A language model behind any OpenAI-compatible ``POST {base_url}/chat/completions``."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import structlog

from clearwell.errors import ConfigurationError, JudgeUnavailable
from clearwell.models.budget import Budget
from clearwell.models.dialect import Dialect, Way
from clearwell.models.json_api import ApiFailure, Fault, JsonApi, checked_key, endpoint, spoken
from clearwell.ports import AnswerForm, ChatMessage

log = structlog.get_logger(__name__)
SAID_CHARS: Final = 200
MAX_BYTES: Final = 1024 * 1024
ASK_ANEW_SECONDS: Final = 6 * 3600.0
"""After so long a server that knew no schema is asked for one again: it may have been updated."""
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
"""Faults after which no model can have worked for us."""
CUT: Final = frozenset({"length", "max_tokens"})


class OpenAIChat:
    """Asks by an API, ``concurrency`` questions at a time and ``budget_per_hour`` in any hour.

    A question is one try; only a server that refuses a schema, or another part of the dialect, is asked once more
    without it. What it accepted is remembered.
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
        max_tokens: int = 1000,
        longest_wait_seconds: float = 900.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if not model.strip():
            raise ConfigurationError("judge_model_missing")
        self._key = checked_key(api_key, otherwise="judge_key_invalid")
        self._api = JsonApi(
            endpoint(base_url, "/chat/completions", otherwise="judge_address_invalid"),
            key=self._key,
            timeout_seconds=timeout_seconds,
            max_bytes=MAX_BYTES,
            said_chars=SAID_CHARS,
        )
        self._model = model.strip()
        self._max_tokens = max_tokens
        self._longest_wait = longest_wait_seconds
        self._slots = asyncio.Semaphore(concurrency)
        self._budget = Budget(budget_per_hour, monotonic=monotonic)
        self._monotonic = monotonic
        self._dialect = Dialect()
        self._worded: set[str] = set()
        self._proven_at: float | None = None

    @property
    def model(self) -> str:
        return self._model

    async def complete(self, messages: Sequence[ChatMessage], *, form: AnswerForm | None = None) -> str:
        async with self._slots:
            words, way = await self._asked(messages, form)
            if form is None or form.is_in_words is None or way is Way.WORDS or not form.is_in_words(words):
                return words
            # The server takes the form and the model does not: from now on this is asked for in words.
            self._worded.add(form.name)
            words, _ = await self._asked(messages, form)
            return words

    async def close(self) -> None:
        await self._api.close()

    def _spend(self) -> float:
        if wait := self._budget.wait():
            raise self._no(
                "judge_budget_spent", retry_after=wait, budget=self._budget.calls, seconds=max(1, round(wait))
            )
        return self._budget.spend()

    async def _asked(self, messages: Sequence[ChatMessage], form: AnswerForm | None) -> tuple[str, Way]:
        """The model's words, and how they were asked for."""
        spent = self._spend()
        try:
            content, way = await self._ask(messages, form)
        except ApiFailure as failure:
            if failure.fault in UNPAID:
                self._budget.give_back(spent)
            raise self._failed(failure) from failure
        return self._text(content), way

    async def _ask(self, messages: Sequence[ChatMessage], form: AnswerForm | None) -> tuple[bytes, Way]:
        """The body of a good answer. Each turn leaves one thing out, so there are few."""
        dialect, proven = self._known()
        worded = form is not None and form.name in self._worded
        while True:
            asked = replace(dialect, way=Way.WORDS) if worded else dialect
            try:
                content = await self._api.post(
                    asked.body(self._model, messages, form=form, max_tokens=self._max_tokens)
                )
            except ApiFailure as failure:
                simpler = asked.after(failure, formed=form is not None, proven=proven)
                if simpler is None:
                    raise
                dialect = simpler
            else:
                self._learn(dialect, formed=form is not None and not worded)
                return content, asked.way

    def _known(self) -> tuple[Dialect, bool]:
        """The dialect to begin with, and whether the server has lately accepted it."""
        old = self._proven_at is not None and self._monotonic() - self._proven_at >= ASK_ANEW_SECONDS
        if old and (self._worded or self._dialect != Dialect()):
            self._dialect, self._proven_at = Dialect(), None
            self._worded.clear()
        return self._dialect, self._proven_at is not None

    def _learn(self, dialect: Dialect, *, formed: bool) -> None:
        """Only a question with a form proves how forms are to be asked for."""
        if not formed:
            self._dialect = replace(dialect, way=self._dialect.way)
            return
        if self._proven_at is None or dialect != self._dialect:
            self._proven_at = self._monotonic()
        self._dialect = dialect

    def _text(self, content: bytes) -> str:
        """The model's words in an answer of the API's form."""
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._no("judge_answer_unreadable") from error
        match answer:
            case {"choices": [{"message": dict(message)} as choice, *_]}:
                return self._words(message, choice.get("finish_reason"))
            case {"choices": []}:
                raise self._no("judge_answer_empty")
            case {"error": _}:
                said = spoken(content, secret=self._key, limit=SAID_CHARS)
                raise self._no("judge_server_error", status=200, said=said)
            case _:
                raise self._no("judge_answer_unreadable")

    def _words(self, message: Mapping[str, object], finish_reason: object) -> str:
        if message.get("refusal") or finish_reason == "content_filter":
            raise self._no("judge_declined")
        if isinstance(finish_reason, str) and finish_reason.lower() in CUT:
            raise self._no("judge_answer_cut")
        content = message.get("content")
        words = _joined(content) if isinstance(content, list) else content
        if words is None or (isinstance(words, str) and not words.strip()):
            raise self._no("judge_answer_empty")
        if not isinstance(words, str):
            raise self._no("judge_answer_unreadable")
        return words

    def _failed(self, failure: ApiFailure) -> JudgeUnavailable:
        asked = failure.retry_after
        too_long = asked is not None and asked > self._longest_wait
        return self._no(
            "judge_asks_to_wait" if too_long else CODES[failure.fault],
            retry_after=self._longest_wait if too_long else asked,
            asked=None if asked is None else round(asked),
            wait=round(self._longest_wait),
            said=failure.said,
            seconds=self._api.timeout,
            status=failure.status,
            limit=MAX_BYTES,
        )

    def _no(self, code: str, *, retry_after: float | None = None, said: str = "", **params: object) -> JudgeUnavailable:
        # Not what the server said: it may repeat the text.
        if code != "judge_budget_spent":
            log.warning("no answer of the chat model", reason=code, where=self._api.where, status=params.get("status"))
        detail = {"where": self._api.where, "said": said or "–"}
        return JudgeUnavailable(code, retry_after=retry_after, detail=detail, model=self._model, **params)


def _joined(parts: list[object]) -> str:
    """The text of an answer in parts; other parts are thoughts and the like."""
    texts = [part["text"] for part in parts if isinstance(part, dict) and part.get("type") == "text" and "text" in part]
    return "".join(text for text in texts if isinstance(text, str))
