"""What ``serve`` says when it is ready: what runs, who may do what, and three commands that show the protocol."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.request import getproxies, proxy_bypass

from clearwell.adapters.cli.addresses import address
from clearwell.adapters.cli.command import program
from clearwell.adapters.cli.terminal import Terminal
from clearwell.records import Json
from clearwell.servers import Servers
from clearwell.settings import Settings
from clearwell.version import __version__
from clearwell.views.settings import mask_address

KEY_HEADER = '-H "Authorization: Bearer $CLEARWELL_KEY"'


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSummary:
    """What is running, and whether a caller needs a key."""

    settings: Settings
    servers: Servers
    needs_key: bool


def welcome(served: ServeSummary, terminal: Terminal) -> None:
    settings = served.settings
    terminal.tell("cli_serve_ready", version=__version__, style="bold")
    terminal.line()
    terminal.pairs([*_servers(served, terminal), *_addresses(settings, terminal)])
    terminal.line()
    if served.needs_key:
        terminal.tell("cli_serve_key", program=program())
    else:
        terminal.tell("cli_serve_local", program=program())
    terminal.line()
    _commands(served, terminal)
    terminal.tell("cli_serve_demo", command=f"{program()} demo")
    terminal.line()
    terminal.tell("cli_serve_stop")


def _servers(served: ServeSummary, terminal: Terminal) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for server in served.servers.embedded:
        how = terminal.words("cli_server_started" if server.started else "cli_server_attached", pid=server.pid)
        rows.append((f"{server.name} {server.version}", f"{how} · {server.folder}"))
        rows.append(("", terminal.words("cli_server_log", path=server.log)))
    settings = served.settings
    for name, url in (("PostgreSQL", settings.database_url), ("Redis/Valkey", settings.redis_url)):
        if url is not None:
            shown = mask_address(url.get_secret_value())
            rows.append((name, terminal.words("cli_server_elsewhere", url=shown)))
    return rows


def _addresses(settings: Settings, terminal: Terminal) -> list[tuple[str, str]]:
    url = address(settings)
    rows = [
        ("API", url),
        (terminal.words("cli_serve_console"), f"{url}/"),
        (terminal.words("cli_serve_docs"), f"{url}/docs"),
    ]
    if settings.database_url is None or settings.redis_url is None:
        hint = terminal.words("cli_serve_data_hint", program=program())
        rows.append((terminal.words("cli_serve_data"), f"{settings.data_dir.absolute()}  {hint}"))
    return rows


def _commands(served: ServeSummary, terminal: Terminal) -> None:
    group = demo_group()
    terminal.tell("cli_try_intro", style="bold")
    if served.needs_key:
        terminal.tell("cli_try_key", command=f"{program()} keys create --scope capture,read,review --group {group}")
    for number, command in enumerate(commands_to_try(served, group, terminal), start=1):
        terminal.line()
        terminal.tell(f"cli_try_{number}")
        terminal.line()
        terminal.command(f"  {command}", "cyan")
    terminal.line()


def commands_to_try(served: ServeSummary, group: str, terminal: Terminal) -> Sequence[str]:
    """An admitted capture, a refused one, and a promoted text that is found."""
    admitted = _capture(terminal.words("cli_try_text_admitted"), group, confidence=0.93)
    refused = _capture(terminal.words("cli_try_text_refused"), group, confidence=0.35)
    promoted: Json = {"group_id": group, "content": terminal.words("cli_try_text_promoted")}
    asked: Json = {"group_id": group, "query": terminal.words("cli_try_text_query")}
    return [
        _curl(served, "/api/v1/captures?wait=true", admitted, terminal),
        _curl(served, "/api/v1/captures?wait=true", refused, terminal),
        _curl(served, "/api/v1/memory/ingest", promoted, terminal)
        + " && "
        + _curl(served, "/api/v1/memory/query", asked, terminal),
    ]


def demo_group() -> str:
    """Return a new group each time, since texts that were tried before would be duplicates."""
    return f"demo-{datetime.now().astimezone():%m%d-%H%M%S}"


def _capture(content: str, group: str, *, confidence: float) -> Json:
    return {
        "group_id": group,
        "agent_id": "scout",
        "content": content,
        "metadata": {"confidence": confidence},
    }


def _curl(served: ServeSummary, path: str, body: Json, terminal: Terminal) -> str:
    url = address(served.settings)
    words = ["curl", "-sS", "-w", r"\n", *_past_proxy(url), f"{url}{path}"]
    words += ["-H", "Content-Type: application/json"]
    if terminal.language != "en":
        words += ["-H", f"Accept-Language: {terminal.language}"]
    key = [KEY_HEADER] if served.needs_key else []
    return " ".join([shlex.join(words), *key, "-d", shlex.quote(json.dumps(body, ensure_ascii=False))])


def _past_proxy(url: str) -> list[str]:
    """A proxy set for the shell would be asked for this machine's own address."""
    host = url.removeprefix("http://").rpartition(":")[0]
    return ["--noproxy", "*"] if getproxies().get("http") and not proxy_bypass(host) else []
