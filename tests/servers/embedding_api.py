"""A real HTTP server that speaks the OpenAI embeddings API, and can be told to misbehave.

Its vectors are bags of hashed words (and single CJK characters): deterministic, and texts that share words are near.
"""

import hashlib
import json
import re

from tests.servers.scripted import Reply, Request, ScriptedApi, answer, half_of

DIMENSIONS = 64


def hashed_words(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    vector = [0.0] * dimensions
    for word in re.findall(r"[a-z0-9]+|[^\sa-z0-9]", text.lower()):
        digest = hashlib.sha256(word.encode()).digest()
        vector[int.from_bytes(digest[:4], "big") % dimensions] += 2.0 if digest[4] % 2 else -2.0
    return vector if any(vector) else [3.0] + [0.0] * (dimensions - 1)


def good(request: Request) -> Reply:
    dimensions = request.body.get("dimensions", DIMENSIONS)
    rows = [hashed_words(text, dimensions) for text in request.body["input"]]
    return embeddings(*rows)


def embeddings(*rows: object) -> Reply:
    data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
    return answer({"object": "list", "data": data, "model": "test"})


def reversed_order(request: Request) -> Reply:
    content = json.loads(good(request).body)
    content["data"].reverse()
    return answer(content)


def cut(request: Request) -> Reply:
    """Half of a good answer, then the connection is closed."""
    return half_of(good(request))


class EmbeddingApi(ScriptedApi):
    """The server. When its script is used up it is good."""

    def __init__(self) -> None:
        super().__init__(usually=good)
