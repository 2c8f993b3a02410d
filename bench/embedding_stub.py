"""An OpenAI-compatible embedding API on loopback that answers with vectors that were drawn before.

A text has always the same vector, and different texts hardly ever share one: with one vector for all, every promoted
text would be compared with others as if they meant the same.

``clearwell serve`` is measured with it where the model is not what is measured. It runs as a process of its own, so
that it does not share an interpreter with the measuring client.
"""

import asyncio
import json
import subprocess
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bench.ground import FixedEmbedder, vectors
from bench.server import free_port

HEADERS_END = b"\r\n\r\n"
NUMBER = 4096
"""This many vectors are drawn."""


@contextmanager
def embedding_stub() -> Iterator[dict[str, str]]:
    """Run the stub; gives the settings with which ``clearwell serve`` uses it, its model named as FixedEmbedder's."""
    port = free_port()
    command = [sys.executable, "-m", "bench.embedding_stub", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield {
            "CLEARWELL_EMBEDDER": "openai",
            "CLEARWELL_EMBEDDING_MODEL": FixedEmbedder.model,
            "CLEARWELL_EMBEDDING_BASE_URL": f"http://127.0.0.1:{port}/v1",
        }
    finally:
        process.terminate()
        process.wait(30)
        if process.stdout is not None:
            process.stdout.close()


class Stub(asyncio.Protocol):
    """One connection. Requests are read by their Content-Length."""

    drawn: Sequence[str] = ()

    def __init__(self) -> None:
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (request := self._next_request()) is not None:
            assert self._transport is not None
            self._transport.write(self._answer(json.loads(request)["input"]))

    def _next_request(self) -> bytes | None:
        head, end, rest = self._received.partition(HEADERS_END)
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or b"0")
        if not end or len(rest) < length:
            return None
        self._received = rest[length:]
        return rest[:length]

    def _answer(self, texts: Sequence[str]) -> bytes:
        chosen = [self.drawn[zlib.crc32(text.encode()) % len(self.drawn)] for text in texts]
        data = ",".join(f'{{"index":{index},"embedding":{vector}}}' for index, vector in enumerate(chosen))
        body = f'{{"data":[{data}]}}'.encode()
        return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


async def main(port: int) -> None:
    Stub.drawn = [json.dumps([round(float(number), 4) for number in one]) for one in vectors(NUMBER, seed=7)]
    server = await asyncio.get_running_loop().create_server(Stub, "127.0.0.1", port)
    print("ready", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
