"""A real HTTP server that speaks the OpenAI chat API, well or badly, with bodies that well-known servers send."""

import json
import threading
from collections.abc import Callable

from tests.servers.scripted import Behaviour, Reply, Request, ScriptedApi, answer, half_of, reply

SOUND = {
    "reason": "Nothing in it excludes anything else.",
    "contradiction": False,
    "contradiction_quote": "",
    "hallucination": False,
    "hallucination_quote": "",
}
TORN = {
    "reason": "The total is given twice.",
    "contradiction": True,
    "contradiction_quote": "the total is 5 / the total is 7",
    "hallucination": False,
    "hallucination_quote": "",
}


def completion(content: object, *, finish_reason: object = "stop", **message: object) -> Reply:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": finish_reason,
    }
    return answer({"id": "chatcmpl-1", "object": "chat.completion", "model": "test", "choices": [choice]})


def says(content: object, *, finish_reason: object = "stop", **message: object) -> Behaviour:
    """The model's answer to anything. What is no string is said as JSON."""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return lambda _: completion(text, finish_reason=finish_reason, **message)


def sound(_: Request) -> Reply:
    return completion(json.dumps(SOUND))


def cut(request: Request) -> Reply:
    return half_of(sound(request))


def way(request: Request) -> str:
    """How the request asks for the form of the answer."""
    return str(request.body.get("response_format", {}).get("type", "text"))


def only(*ways: str, otherwise: Behaviour, then: Behaviour = sound) -> Behaviour:
    """A server that knows only these response formats, and refuses others in its own words."""
    return lambda request: then(request) if way(request) in ways else otherwise(request)


VLLM = reply(
    400,
    {
        "object": "error",
        "message": "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be"
        " 'text' or 'json_object'\", 'input': 'json_schema', 'ctx': {'expected': \"'text' or 'json_object'\"}}]",
        "type": "BadRequestError",
        "param": None,
        "code": 400,
    },
)
LLAMA_CPP = reply(
    400,
    {
        "error": {
            "code": 400,
            "message": 'response_format type must be one of "text" or "json_object", but got: json_schema',
            "type": "invalid_request_error",
        }
    },
)
IK_LLAMA_CPP = reply(
    500,
    {
        "error": {
            "code": 500,
            "message": 'response_format type must be one of "text" or "json_object", but got: json_schema',
            "type": "server_error",
        }
    },
)
LLAMA_CPP_PYTHON = reply(
    422,
    {
        "detail": [
            {
                "type": "literal_error",
                "loc": ["body", "response_format", "type"],
                "msg": "Input should be 'text' or 'json_object'",
                "input": "json_schema",
            }
        ]
    },
)
DEEPSEEK = reply(
    400,
    {
        "error": {
            "message": "This response_format type is unavailable now",
            "type": "invalid_request_error",
            "param": None,
            "code": "invalid_request_error",
        }
    },
)
OPENAI_OLD_MODEL = reply(
    400,
    {
        "error": {
            "message": "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
            "type": "invalid_request_error",
            "param": None,
            "code": None,
        }
    },
)
LM_STUDIO_NO_OBJECT = reply(400, {"error": "'response_format.type' must be 'json_schema' or 'text'"})
OLLAMA_STYLE = reply(
    400, {"error": {"message": 'invalid format: expected "json" or a JSON schema', "type": "api_error"}}
)
PROXY_404 = reply(404, {"error": {"message": "No endpoints found that support response_format json_schema"}})
BARE_400 = reply(400, "Bad Request")
NO_SCHEMA = {
    "vllm": VLLM,
    "llama.cpp": LLAMA_CPP,
    "ik_llama.cpp": IK_LLAMA_CPP,
    "llama-cpp-python": LLAMA_CPP_PYTHON,
    "deepseek": DEEPSEEK,
    "openai, older model": OPENAI_OLD_MODEL,
    "ollama style": OLLAMA_STYLE,
    "proxy, 404": PROXY_404,
    "bare 400": BARE_400,
}


def new_openai_model(request: Request) -> Reply | None:
    """Refuses max_tokens, then the temperature, one at a time, as gpt-5 and the o-series do."""

    def unsupported(param: str, message: str) -> Reply | None:
        error = {"message": message, "type": "invalid_request_error", "param": param, "code": "unsupported_parameter"}
        return reply(400, {"error": error})(request)

    if "max_tokens" in request.body:
        return unsupported(
            "max_tokens",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'.",
        )
    if "temperature" in request.body:
        return unsupported(
            "temperature",
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is supported.",
        )
    return sound(request)


class Crowd:
    """A behaviour that answers nobody until ``let_go``, and knows how many were in it at once."""

    def __init__(self, entered: Callable[[], object]) -> None:
        self.most = 0
        self._inside = 0
        self._entered: Callable[[], object] = entered
        self._lock = threading.Lock()
        self._gate = threading.Semaphore(0)

    def __call__(self, request: Request) -> Reply:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        self._entered()
        self._gate.acquire()
        with self._lock:
            self._inside -= 1
        return sound(request)

    def let_go(self, count: int = 1) -> None:
        self._gate.release(count)


class ChatApi(ScriptedApi):
    """The server. When its script is used up it finds everything sound."""

    def __init__(self) -> None:
        super().__init__(usually=sound)
