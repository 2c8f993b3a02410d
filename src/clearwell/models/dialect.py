"""How a chat server wants to be asked. Compatible servers differ in three places, and tell by refusing a request.

* The form of an answer. Most take a JSON schema; some only ``json_object``; some neither. They say so with 400 or
  422, FastAPI-like ones naming the field only in ``loc``, some llama.cpp servers with 500.
* The name of the limit. OpenAI's newer models refuse ``max_tokens`` and want ``max_completion_tokens``.
* The temperature. The same models refuse any but their own.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from clearwell.models.json_api import ApiFailure
from clearwell.ports import AnswerForm, ChatMessage
from clearwell.records import Json


class Way(StrEnum):
    """How the form of an answer is asked for, best first."""

    SCHEMA = "json_schema"
    OBJECT = "json_object"
    WORDS = "text"


SIMPLER: Final = {Way.SCHEMA: Way.OBJECT, Way.OBJECT: Way.WORDS}
BAD_REQUEST: Final = frozenset({400, 422})
MAY_NAME_THE_FORM: Final = BAD_REQUEST | {404, 500, 501}
FORM: Final = re.compile(
    r"response_format|json_schema|json_object|json_validate_failed|structured[ _]outputs?|guided_json"
)
TEMPERATURE: Final = re.compile(r"""['"`]temperature['"`]""")
READ_BYTES: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one server is known to accept. The first guess is what most servers do."""

    way: Way = Way.SCHEMA
    limit: str = "max_tokens"
    temperature: bool = True

    def body(
        self, model: str, messages: Sequence[ChatMessage], *, form: AnswerForm | None, max_tokens: int
    ) -> dict[str, Json]:
        """The request, in this dialect."""
        body: dict[str, Json] = {"model": model, "messages": self._messages(messages, form), self.limit: max_tokens}
        if self.temperature:
            body["temperature"] = 0
        if form is not None and self.way is not Way.WORDS:
            body["response_format"] = self._response_format(form)
        return body

    def after(self, failure: ApiFailure, *, formed: bool, proven: bool) -> "Dialect | None":
        """What to try after this refusal. None where it is about something else.

        A refusal that names nothing may be about the form, as long as the server is not ``proven`` to accept it.
        """
        said = failure.body[:READ_BYTES].decode("utf-8", "replace").lower()
        if failure.status in BAD_REQUEST:
            if self.limit == "max_tokens" and "max_completion_tokens" in said:
                return replace(self, limit="max_completion_tokens")
            if self.temperature and TEMPERATURE.search(said):
                return replace(self, temperature=False)
        if not formed or self.way not in SIMPLER or failure.status not in MAY_NAME_THE_FORM:
            return None
        about_the_form = FORM.search(said) or (failure.status in BAD_REQUEST and not proven)
        return replace(self, way=SIMPLER[self.way]) if about_the_form else None

    def _response_format(self, form: AnswerForm) -> dict[str, Json]:
        if self.way is Way.OBJECT:
            return {"type": "json_object"}
        schema: dict[str, Json] = {"name": form.name, "strict": True, "schema": dict(form.schema)}
        return {"type": "json_schema", "json_schema": schema}

    def _messages(self, messages: Sequence[ChatMessage], form: AnswerForm | None) -> list[Json]:
        texts = [message.content for message in messages]
        if form is not None:
            texts[-1] += "\n\n" + (form.in_words if self.way is Way.WORDS else form.in_json)
        return [
            {"role": message.role, "content": sendable(text)} for message, text in zip(messages, texts, strict=True)
        ]


def sendable(text: str) -> str:
    """Text without lone surrogates: no JSON body can carry those."""
    return text.encode("utf-8", "replace").decode("utf-8")
