"""The dialect of a chat server. Compatible servers differ in three places, and show it by refusing a request.

* The format of an answer. Most accept a JSON schema, some only ``json_object``, some neither. They refuse with 400 or
  422, some llama.cpp servers with 500; servers built on FastAPI name the field only in ``loc``.
* The name of the limit. OpenAI's newer models refuse ``max_tokens`` and expect ``max_completion_tokens``.
* The temperature. The same models accept only their default.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from clearwell.models.json_api import ApiFailure
from clearwell.ports import AnswerForm, ChatMessage
from clearwell.records import Json


class AnswerFormat(StrEnum):
    """How the form of an answer is requested, the best way first."""

    SCHEMA = "json_schema"
    OBJECT = "json_object"
    WORDS = "text"


SIMPLER: Final = {AnswerFormat.SCHEMA: AnswerFormat.OBJECT, AnswerFormat.OBJECT: AnswerFormat.WORDS}
BAD_REQUEST: Final = frozenset({400, 422})
MAY_NAME_THE_FORM: Final = BAD_REQUEST | {404, 500, 501}
FORM: Final = re.compile(
    r"response_format|json_schema|json_object|json_validate_failed|structured[ _]outputs?|guided_json"
)
TEMPERATURE: Final = re.compile(r"""['"`]temperature['"`]""")
READ_BYTES: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class Dialect:
    """The request format that one server accepts. The default is what most servers accept."""

    answer_format: AnswerFormat = AnswerFormat.SCHEMA
    limit: str = "max_tokens"
    temperature: bool = True

    def make_body(
        self, model: str, messages: Sequence[ChatMessage], *, form: AnswerForm | None, max_tokens: int
    ) -> dict[str, Json]:
        """Return the body of a request in this dialect."""
        body: dict[str, Json] = {
            "model": model,
            "messages": self._make_messages(messages, form),
            self.limit: max_tokens,
        }
        if self.temperature:
            body["temperature"] = 0
        if form is not None and self.answer_format is not AnswerFormat.WORDS:
            body["response_format"] = self._make_response_format(form)
        return body

    def simplify_after(self, failure: ApiFailure, *, formed: bool, proven: bool) -> "Dialect | None":
        """Return the dialect to try after this refusal, or None if the refusal has another cause.

        A refusal that names no field may be about the form, unless the server is ``proven`` to accept it.
        """
        said = failure.body[:READ_BYTES].decode("utf-8", "replace").lower()
        if failure.status in BAD_REQUEST:
            if self.limit == "max_tokens" and "max_completion_tokens" in said:
                return replace(self, limit="max_completion_tokens")
            if self.temperature and TEMPERATURE.search(said):
                return replace(self, temperature=False)
        if not formed or self.answer_format not in SIMPLER or failure.status not in MAY_NAME_THE_FORM:
            return None
        about_the_form = FORM.search(said) or (failure.status in BAD_REQUEST and not proven)
        return replace(self, answer_format=SIMPLER[self.answer_format]) if about_the_form else None

    def _make_response_format(self, form: AnswerForm) -> dict[str, Json]:
        if self.answer_format is AnswerFormat.OBJECT:
            return {"type": "json_object"}
        schema: dict[str, Json] = {"name": form.name, "strict": True, "schema": dict(form.schema)}
        return {"type": "json_schema", "json_schema": schema}

    def _make_messages(self, messages: Sequence[ChatMessage], form: AnswerForm | None) -> list[Json]:
        texts = [message.content for message in messages]
        if form is not None:
            texts[-1] += "\n\n" + (form.in_words if self.answer_format is AnswerFormat.WORDS else form.in_json)
        return [
            {"role": message.role, "content": replace_surrogates(text)}
            for message, text in zip(messages, texts, strict=True)
        ]


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which no JSON body can contain."""
    return text.encode("utf-8", "replace").decode("utf-8")
