"""What models write while code of the caller runs, in case that code does not reach its end."""

from collections.abc import Iterator
from contextlib import contextmanager

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs, var_child_runnable_config


class PieceCollector(BaseCallbackHandler):
    """Collects what models stream, in the order in which they stream it."""

    run_inline = True

    def __init__(self) -> None:
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """All that was written until now."""
        return "".join(self._pieces)

    def on_llm_new_token(
        self, token: object, *, chunk: GenerationChunk | ChatGenerationChunk | None = None, **_: object
    ) -> None:
        text = chunk.text if chunk is not None else token
        if isinstance(text, str):
            self._pieces.append(text)


@contextmanager
def use_config(config: RunnableConfig, added: RunnableConfig) -> Iterator[None]:
    """Let what runs in the body inherit a configuration with something added."""
    token = var_child_runnable_config.set(merge_configs(config, added))
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)
