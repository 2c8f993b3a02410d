"""No output, log line, answer, process list, audit event or table holds a key or a password, whatever fails."""

from pathlib import Path

import httpx
import pytest

from clearwell.settings import Settings
from tests.integration.cli.program import Program, Serving
from tests.integration.test_erasure import dump
from tests.path import LONG

PASSWORD = "hush5cf1e0b7"
KEYS = {
    "CLEARWELL_API_KEY": "cw_hush8a41c9d2e7f0_own_key",
    "CLEARWELL_JUDGE_API_KEY": "sk-hush3b7d90aa11-judge",
    "CLEARWELL_EMBEDDING_API_KEY": "sk-hush77e2c1f4bb-embedding",
    "CLEARWELL_DIGEST_LLM_API_KEY": "sk-hush2f9914acde-digest",
}
ADDRESSES = {
    "refused": (f"postgresql://joe:{PASSWORD}@127.0.0.1:1/x", f"redis://:{PASSWORD}@127.0.0.1:1/0"),
    "in the query": (
        f"postgresql://127.0.0.1:1/x?user=joe&password={PASSWORD}",
        f"redis://127.0.0.1:1?password={PASSWORD}",
    ),
    "as words": (f"host=127.0.0.1 port=1 user=joe password={PASSWORD} dbname=x", f"redis://joe:{PASSWORD}@127.0.0.1:1"),
    "not an address": (f"postgresql://joe:{PASSWORD}@[::1/x", f"redis://:{PASSWORD}@127.0.0.1:port/0"),
    "a percent sign": (f"postgresql://joe:{PASSWORD}%zz@127.0.0.1:1/x", f"redis://:{PASSWORD}%zz@127.0.0.1:1"),
    "an unknown option": (f"postgresql://joe:{PASSWORD}@127.0.0.1:1/x?nonsense=1", f"rediss://:{PASSWORD}@127.0.0.1:1"),
}
COMMANDS = (
    ("doctor",),
    ("status",),
    ("settings",),
    ("keys", "list"),
    ("ingest", "-g", "g", LONG),
    ("serve", "--port", "0"),
)
UNREACHABLE = "http://127.0.0.1:1/v1"


def require_no_secret(text: str | bytes, where: object) -> None:
    """Fail if a secret, or a recognisable part of one, is in a text."""
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    found = [secret for secret in (PASSWORD, *KEYS.values()) if secret in shown or secret[:14] in shown]
    assert not found, (where, shown[:2000])


@pytest.mark.parametrize("kind", ADDRESSES)
def test_a_command_that_fails_shows_no_password_and_no_key(program: Program, kind: str) -> None:
    database, redis = ADDRESSES[kind]
    working = program.environment["DATABASE_URL"]
    failing = program.but(**KEYS, CLEARWELL_POSTGRES_CONNECT_SECONDS="0.5", DATABASE_URL=database, REDIS_URL=redis)
    for command in COMMANDS:
        ran = failing.run(*command)
        require_no_secret(ran.out + ran.err, command)
    ran = failing.but(DATABASE_URL=working).run("doctor")
    require_no_secret(ran.out + ran.err, "redis alone")


def test_a_server_whose_models_fail_keeps_its_keys(program: Program, settings: Settings) -> None:
    models = {
        "CLEARWELL_JUDGE_BASE_URL": UNREACHABLE,
        "CLEARWELL_JUDGE_MODEL": "m",
        "CLEARWELL_DIGEST_LLM_BASE_URL": UNREACHABLE,
        "CLEARWELL_DIGEST_LLM_MODEL": "m",
    }
    own = program.but(**KEYS, **models)
    created = own.but(CLEARWELL_API_KEY="").good(
        "keys", "create", "--name", "ops", "--scope", "admin", "--scope", "capture", "--all-groups", "--json"
    )
    secret = created.json["key"]
    with own.but(CLEARWELL_API_KEY=secret).serving() as running:
        answers = ask_wrongly(running, secret)
        listed = list_processes()
    signing = next((program.folder / "data").rglob("audit.key")).read_text(encoding="utf-8").strip()
    logs = running.output.read_bytes() + running.errors.read_bytes()
    stored = dump(settings)
    hidden = (secret, signing.splitlines()[1] if "\n" in signing else signing)
    places = {"answers": answers.encode(), "processes": listed.encode(), "logs": logs, "stores": stored}
    for where, text in places.items():
        require_no_secret(text, where)
        assert not [one for one in hidden if one.encode() in text], where


def ask_wrongly(running: Serving, secret: str) -> str:
    """What the server answers to requests with keys in wrong places, and to one that makes the models fail."""
    own = {"Authorization": f"Bearer {secret}"}
    wrong = KEYS["CLEARWELL_API_KEY"]
    with httpx.Client(base_url=running.url, trust_env=False) as client:
        answers = [
            client.get("/api/v1/groups", headers={"Authorization": f"Bearer {wrong}"}),
            client.get("/api/v1/groups", headers={"Authorization": f"Basic {wrong}"}),
            client.get("/api/v1/groups", headers={"Authorization": f"{wrong} {wrong}"}),
            client.get(f"/api/v1/groups/{wrong}", headers={"Clearwell-Actor": wrong}),
            client.get("/api/v1/groups", params={"api_key": wrong}),
            client.post("/api/v1/captures", json={"api_key": wrong}, headers=own),
            client.post("/api/v1/captures", content=f'{{"a": "{wrong}"', headers={**own, "Content-Type": "text/x"}),
            client.post("/api/v1/captures?wait=true", json={"group_id": "g", "content": LONG}, headers=own),
            client.post("/api/v1/digests", json={"group_id": "g"}, headers=own),
            client.get("/metrics", headers=own),
            client.get("/readyz"),
        ]
    return "".join(answer.text + str(answer.headers) for answer in answers if wrong not in str(answer.url))


def list_processes() -> str:
    """The command lines of all processes that this user may read."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:  # it has ended
            continue
    return "\n".join(found)
