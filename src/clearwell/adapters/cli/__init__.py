"""The command line: run, administer and use Clearwell from a shell.

Importing it loads no more than the help needs. A command imports what it works with when it runs.
"""

import sys
from typing import Annotated

import typer

from clearwell.adapters.cli import ingress, memory, operations, quarantine
from clearwell.adapters.cli.archive import export, import_file
from clearwell.adapters.cli.audit import audit
from clearwell.adapters.cli.command import USAGE_ERROR, Interrupted
from clearwell.adapters.cli.demo import demo
from clearwell.adapters.cli.digests import digests
from clearwell.adapters.cli.erasure import forget
from clearwell.adapters.cli.events import events
from clearwell.adapters.cli.factcheck import factcheck
from clearwell.adapters.cli.groups import agents, groups
from clearwell.adapters.cli.keys import keys
from clearwell.adapters.cli.mcp import mcp
from clearwell.adapters.cli.memories import memories
from clearwell.adapters.cli.models import models
from clearwell.adapters.cli.retraction import retract
from clearwell.adapters.cli.review import review
from clearwell.adapters.cli.spool import spool
from clearwell.adapters.cli.terminal import prepare_streams
from clearwell.adapters.cli.tombstones import tombstones
from clearwell.adapters.cli.working import working
from clearwell.errors import ClearwellError
from clearwell.version import __version__

app = typer.Typer(
    name="clearwell",
    help="Three-tier memory for agents: quarantine, working memory, and long-term memory that only people can write.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"clearwell {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _start(
    called: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback acts
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    if called.invoked_subcommand is None:
        typer.echo(called.get_help())


for command in (
    operations.serve,
    demo,
    operations.worker,
    mcp,
    operations.migrate,
    operations.reembed,
    operations.rebuild,
    operations.index,
    operations.backup,
    operations.restore,
    export,
    memory.capture,
    memory.query,
    memory.context,
    factcheck,
    memory.ingest,
    quarantine.quarantine,
    quarantine.explain,
    retract,
    forget,
    ingress.check,
    ingress.admit,
    ingress.assign,
    ingress.requeue,
    ingress.counts,
    events,
    operations.status,
    operations.data,
    operations.doctor,
    operations.settings,
):
    app.command()(command)
app.command(name="import")(import_file)
app.add_typer(working, name="working")
app.add_typer(review, name="review")
app.add_typer(memories, name="memories")
app.add_typer(tombstones, name="tombstone")
app.add_typer(digests, name="digest")
app.add_typer(groups, name="group")
app.add_typer(agents, name="agent")
app.add_typer(audit, name="audit")
app.add_typer(keys, name="keys")
app.add_typer(models, name="models")
app.add_typer(spool, name="spool")


def main() -> None:
    """Run the command line. Errors are one clear sentence on stderr, never a traceback."""
    prepare_streams()
    try:
        code = app(standalone_mode=False, prog_name="clearwell")
    except (ClearwellError, Interrupted, typer.Abort, OSError, ValueError, USAGE_ERROR) as error:
        from clearwell.adapters.cli import problems  # with the settings, whose errors are ValueErrors too

        code = problems.report(error)
    sys.exit(code if isinstance(code, int) else 0)


__all__ = ["app", "main"]
