"""The code blocks of the READMEs and of docs/: found, run as they are printed, and compared with what they print.

``docs/README.md`` tells authors the rules that this module implements.
"""

import ast
import asyncio
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from inspect import CO_COROUTINE
from io import StringIO
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from clearwell.text.short_ids import SHORT_ID_LENGTH

ROOT = Path(__file__).parents[2]
RUN = ("python", "bash")
OUTPUT = "text"
FILES = ("", "json", "toml", "yaml", "ini", "http")
"""Languages of blocks that are no program: files, answers, diagrams."""

FENCE = re.compile(r"^( *)```(\w*)")
WHOLE_ID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
SHORT_ID = r"(?<![\w-])[0-9a-f]{8}(?![\w-])"
ID = re.compile(f"{WHOLE_ID}|{SHORT_ID}")
OWN = re.compile(r"(?<=cw_)[\w-]{20,}|(?<=local:)\w+|\b[0-9a-f]{32}\b")
"""What depends on the machine and is no ID: keys, tokens, the name of the local user."""
TIME = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?:Z|[+-]\d\d:\d\d)?"
NUMBER = r"-?\d+\.\d+"
AGE = r"(?:just now|\d+ min ago|刚刚|\d+ 分钟前)"
LEFT = r"(?:\d+ h left|剩余 \d+ 小时)"
VALUES = {"time": TIME, "age": AGE, "left": LEFT, "number": NUMBER, "any": r"[^\n]*?"}
SHOWN = {"id": ID.pattern, **VALUES, "any": "…"}
VARIABLE = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in SHOWN.items()))


@dataclass(frozen=True)
class Block:
    """A fenced block: where it is, its language, its lines, and the output that is printed below it."""

    path: Path
    line: int
    language: str
    code: str
    output: "Block | None" = None

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def documents() -> list[Path]:
    """The READMEs and every page of the site."""
    pages = [path for path in sorted((ROOT / "docs").rglob("*.md")) if path != ROOT / "docs" / "README.md"]
    return [ROOT / "README.md", ROOT / "README.zh-CN.md", *pages]


def read_blocks(path: Path) -> list[Block]:
    """Read the blocks of a page that are not outputs, each with its output."""
    blocks: list[Block] = []
    for block, direct in _fences(path):
        if block.language != OUTPUT:
            blocks.append(block)
            continue
        assert direct, f"{block}: a block of {OUTPUT} follows the block that prints it"
        program = blocks.pop()
        assert program.language in RUN, f"{block}: the block above prints nothing"
        blocks.append(replace(program, output=block))
    return blocks


def _fences(path: Path) -> Iterator[tuple[Block, bool]]:
    """Every fenced block, and whether nothing stands between it and the block before it."""
    opened: tuple[int, str] | None = None
    lines: list[str] = []
    direct = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None and fence:
            assert not fence[1], f"{path.name}:{number}: blocks are not indented"
            opened, lines = (number, fence[2]), []
        elif opened is None:
            direct = direct and not line.strip()
        elif line == "```":
            yield Block(path, opened[0], opened[1], "".join(f"{code}\n" for code in lines)), direct
            opened, direct = None, True
        else:
            lines.append(line)
    assert opened is None, f"{path.name}: a block is not closed"


def split_commands(code: str) -> list[str]:
    """Split a block of shell into commands: a line, with the lines that a quotation or a backslash adds to it."""
    commands: list[str] = []
    open_lines: list[str] = []
    for line in code.splitlines():
        if not open_lines and (not line.strip() or line.startswith("#")):
            continue
        open_lines.append(line)
        if _is_complete("\n".join(open_lines)):
            commands.append("\n".join(open_lines))
            open_lines = []
    assert not open_lines, f"a quotation is not closed: {open_lines}"
    return commands


def _is_complete(text: str) -> bool:
    if text.endswith("\\"):
        return False
    try:
        shlex.split(text)
    except ValueError:
        return False
    return True


@dataclass
class Values:
    """The IDs that a page prints, each with the ID that was really printed."""

    ids: dict[str, str] = field(default_factory=dict)

    def fill_in(self, text: str) -> str:
        return ID.sub(lambda found: self.ids.get(found[0], found[0]), text)

    def invent(self, text: str, printed: str) -> None:
        """Let each unknown ID of a command stand for an ID that was printed, the last one first: for authors."""
        recent = list(dict.fromkeys(reversed(ID.findall(printed))))
        unknown = [shown for shown in dict.fromkeys(ID.findall(text)) if shown not in self.ids]
        self.ids.update(zip(unknown, recent, strict=False))

    def show(self, printed: str) -> str:
        """The text with the IDs of the page in place of those that were really printed."""
        shown = {real: name for name, real in self.ids.items()}
        return OWN.sub("…", ID.sub(lambda found: shown.get(found[0], found[0]), printed))

    def compare(self, expected: str, printed: str) -> bool:
        """Whether a page prints what was printed. If it does, remember the IDs."""
        names: dict[str, str] = {}
        found = re.fullmatch(self._pattern(expected, names), _plain(printed), re.DOTALL)
        if found is None:
            return False
        self.ids.update({shown: found[name] for shown, name in names.items()})
        return True

    def _pattern(self, expected: str, names: dict[str, str]) -> str:
        lines = _plain(expected).split("\n")
        parts = [r"(?:[^\n]*\n)*?" if line == "…" else self._line(line, names) + r"\n" for line in lines]
        pattern = "".join(parts)
        return pattern.removesuffix(r"\n") if lines[-1] != "…" else pattern + r"[^\n]*"

    def _line(self, line: str, names: dict[str, str]) -> str:
        pattern, end = "", 0
        for found in VARIABLE.finditer(line):
            pattern += re.escape(line[end : found.start()])
            kind = found.lastgroup or ""
            pattern += self._id(found[0], names) if kind == "id" else VALUES[kind]
            end = found.end()
        return pattern + re.escape(line[end:])

    def _id(self, shown: str, names: dict[str, str]) -> str:
        if shown in self.ids:
            return re.escape(self.ids[shown])
        if shown in names:
            return f"(?P={names[shown]})"
        names[shown] = f"id{len(names)}"
        return f"(?P<{names[shown]}>{SHORT_ID if len(shown) == SHORT_ID_LENGTH else WHOLE_ID})"


def _plain(text: str) -> str:
    """The text without what depends on the width of columns."""
    lines = (re.sub(r"─+", "─", re.sub(r" +", " ", line)).rstrip() for line in text.splitlines())
    return "\n".join(lines).strip("\n")


class PythonPage:
    """The Python of one page: one namespace, and one event loop for what it awaits."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._loop = asyncio.new_event_loop()

    def run(self, block: Block, code: str) -> str:
        """Run a block and return what it prints. Its ``await`` may stand outside of any function."""
        compiled: CodeType = compile(code, str(block), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        with redirect_stdout(StringIO()) as printed:
            if compiled.co_flags & CO_COROUTINE:
                self._loop.run_until_complete(FunctionType(compiled, self._names)())
            else:
                exec(compiled, self._names)  # noqa: S102 - the documentation is ours
        return printed.getvalue()

    def close(self) -> None:
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


def write_outputs(path: Path, outputs: Sequence[tuple[Block, str]]) -> None:
    """Write what was printed into the output blocks of a page, last block first."""
    if not outputs:
        return
    lines = path.read_text(encoding="utf-8").splitlines()
    for block, printed in sorted(outputs, key=lambda pair: -pair[0].line):
        shown = "\n".join(line.rstrip() for line in printed.splitlines()).strip("\n").splitlines()
        lines[block.line : block.line + len(block.code.splitlines())] = shown
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
