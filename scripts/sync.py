"""Write the synchronous classes in src/clearwell/sync/ from the asynchronous ones.

``--check`` writes nothing and fails if a file is not up to date.
"""

import argparse
import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "clearwell"
WRITTEN_BY = "Written by scripts/sync.py: run `make sync` instead of editing it."
NODES = ("MemoryRetrievalNode", "FactCheckNode")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Face:
    """A synchronous class: what it is called, which class it is made from, and what it says of itself."""

    name: str
    module: str
    original: str
    docstring: str


MEMORY = (
    Face(
        name="SyncMemoryManager",
        module="service",
        original="MemoryManager",
        docstring="The memory manager without ``await``. Methods, parameters and records are the same.",
    ),
    Face(
        name="SyncReviewService",
        module="flow.review.service",
        original="ReviewService",
        docstring="The review service without ``await``: insights, decisions, provenance and statistics.",
    ),
)
CLIENT = (
    Face(name="Client", module="client.client", original="AsyncClient", docstring=""),
    Face(
        name="ReviewClient",
        module="client.review",
        original="AsyncReviewClient",
        docstring="The review service of a server without ``await``. Create the client with ``agent=False``.",
    ),
)
FILES: Mapping[str, tuple[str, Sequence[Face]]] = {
    "memory.py": ("The memory manager and the review service for synchronous programs.", MEMORY),
    "client.py": ("The client for synchronous programs.", CLIENT),
}
NAMES = {face.original: face.name for _, faces in FILES.values() for face in faces}

OPENING = '''
    def __init__({parameters}) -> None:
        self._inner = {original}({arguments})
        self._loop = LoopThread(self._inner.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections and end the thread of the client."""
        self._loop.close()
'''
BINDING = """
    def __init__(self, inner: {original}, loop: LoopThread) -> None:
        self._inner = inner
        self._loop = loop
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a file is not up to date")
    wanted = parser.parse_args()
    for name, (summary, faces) in FILES.items():
        path, text = SOURCE / "sync" / name, render(summary, faces)
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if wanted.check:
            sys.exit(f"Not up to date: src/clearwell/sync/{name}. Run: make sync")
        path.write_text(text, encoding="utf-8")
        print(f"written: src/clearwell/sync/{name}")


def render(summary: str, faces: Sequence[Face]) -> str:
    """The whole module, formatted."""
    classes = "\n\n".join(render_class(face) for face in faces)
    head = f'"""{summary}\n\n{WRITTEN_BY}\n"""\n\nfrom __future__ import annotations\n\n'
    return format_code(head + render_imports(classes, faces) + "\n\n" + classes)


def render_class(face: Face) -> str:
    original = read_class(face)
    docstring = face.docstring or synchronous(ast.get_docstring(original, clean=False) or "")
    begin = OPENING if face.original == "AsyncClient" else BINDING
    functions = {node.name: node for node in original.body if isinstance(node, Function)}
    made = functions["__init__"]
    parts = [
        f'@explain_wrong_calls\nclass {face.name}:\n    """{docstring}"""\n',
        begin.format(original=face.original, parameters=ast.unparse(made.args), arguments=pass_on(made.args)),
        *(render_method(node) for node in functions.values() if not node.name.startswith("_") and node.name != "close"),
    ]
    return "\n".join(parts)


def render_method(node: Function) -> str:
    decorators = "".join(f"    @{decorator}\n" for decorator in read_decorators(node))
    returned = ast.unparse(node.returns) if node.returns is not None else "None"
    call = f"self._inner.{node.name}" if decorators else f"self._inner.{node.name}({pass_on(node.args)})"
    kind, body = convert(returned.strip("'\""), call, is_async=isinstance(node, ast.AsyncFunctionDef))
    docstring = synchronous(ast.get_docstring(node, clean=False) or "")
    return (
        f"{decorators}    def {node.name}({ast.unparse(node.args)}) -> {kind}:\n"
        f'        """{docstring}"""\n        {"" if kind == "None" else "return "}{body}\n'
    )


def convert(returned: str, call: str, *, is_async: bool) -> tuple[str, str]:
    """What a method returns, and the expression that makes it."""
    if is_async:
        return returned, f"self._loop.run({call})"
    if returned in NODES:
        return "SyncNode", f"SyncNode({call}, self._loop)"
    if returned in NAMES:
        return NAMES[returned], f"{NAMES[returned]}({call}, self._loop)"
    if returned.startswith("AsyncGenerator["):
        return returned.replace("AsyncGenerator", "Iterator"), f"self._loop.iterate({call})"
    if returned.startswith("AbstractAsyncContextManager["):
        return returned.replace("Async", ""), f"self._loop.enter({call})"
    return returned, call


def read_decorators(node: Function) -> Iterator[str]:
    """A property stays one; a cached one is made again with each use, which costs nothing."""
    for decorator in node.decorator_list:
        yield ast.unparse(decorator).replace("cached_property", "property")


def pass_on(arguments: ast.arguments) -> str:
    """The arguments of a call with the parameters of its caller."""
    positional = [one.arg for one in arguments.args if one.arg != "self"]
    return ", ".join([*positional, *(f"{one.arg}={one.arg}" for one in arguments.kwonlyargs)])


def synchronous(docstring: str) -> str:
    """A docstring without the words of asynchronous programs."""
    text = docstring.replace("await ", "").replace("``async with", "``with").replace("``async for", "``for")
    return text.replace("an asynchronous context manager", "a context manager")


def render_imports(classes: str, faces: Sequence[Face]) -> str:
    """Imports of the names that are used: at run time those of code and defaults, the others for the type checker."""
    used = {node.id for node in ast.walk(ast.parse(classes)) if isinstance(node, ast.Name)}
    running = names_at_run_time(classes)
    own = {
        "LoopThread": "clearwell.sync.loop_thread",
        "SyncNode": "clearwell.sync.node",
        "explain_wrong_calls": "clearwell.signatures",
        "Self": "typing",
        "Iterator": "collections.abc",
        "AbstractContextManager": "contextlib",
        "TracebackType": "types",
        **{face.original: f"clearwell.{face.module}" for face in faces},
    }
    known = {name: module for face in faces for name, module in read_imports(face)} | own
    at_run_time = [render_import(name, known) for name in sorted(used & running) if name in known]
    for_types = [f"    {render_import(name, known)}" for name in sorted(used - running) if name in known]
    typing = "from typing import TYPE_CHECKING"
    return "\n".join([typing, *at_run_time, "", "if TYPE_CHECKING:", *for_types]) + "\n"


def render_import(name: str, known: Mapping[str, str]) -> str:
    return f"from {known[name]} import {name}" if known[name] else f"import {name}"


def names_at_run_time(classes: str) -> set[str]:
    """The names outside of annotations."""
    tree = ast.parse(classes)
    for node in ast.walk(tree):
        if isinstance(node, Function):
            node.returns = None
            for argument in [*node.args.args, *node.args.kwonlyargs]:
                argument.annotation = None
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def read_imports(face: Face) -> Iterator[tuple[str, str]]:
    """The names that the module of a class imports or defines, with the modules that they come from.

    A module that is imported as a whole comes from none.
    """
    module = f"clearwell.{face.module}"
    tree = ast.parse((SOURCE / f"{face.module.replace('.', '/')}.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from ((alias.asname or alias.name, node.module) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            yield from ((target.id, module) for target in statement.targets if isinstance(target, ast.Name))


def read_class(face: Face) -> ast.ClassDef:
    tree = ast.parse((SOURCE / f"{face.module.replace('.', '/')}.py").read_text(encoding="utf-8"))
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == face.original)


def format_code(text: str) -> str:
    """The text with sorted imports and in the format of the project."""
    for command in (["check", "--select=I", "--fix-only", "--quiet"], ["format", "--quiet"]):
        arguments = [sys.executable, "-m", "ruff", *command, "--stdin-filename=src/clearwell/sync/x.py", "-"]
        text = subprocess.run(arguments, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    main()
