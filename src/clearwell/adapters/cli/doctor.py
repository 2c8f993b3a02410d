"""``doctor``: every part that the protocol's trouble-shooting names, one line each, with what to do."""

import time
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from clearwell.adapters.cli.addresses import find_api, find_foreign_api, find_holder, is_listened_on
from clearwell.adapters.cli.command import program
from clearwell.adapters.cli.database_health import Examination, check_database, check_judge_backlog
from clearwell.adapters.cli.findings import Findings
from clearwell.adapters.cli.status import open_overview_of
from clearwell.adapters.cli.terminal import Terminal
from clearwell.app import make_chat, make_embedder, open_heads
from clearwell.clock import SystemClock
from clearwell.errors import ClearwellError, JudgeUnavailable, SchemaError
from clearwell.models import LLMJudge
from clearwell.servers import ServerAt, running_postgres, running_valkey
from clearwell.settings import Settings
from clearwell.stores.files import FILE_NAME
from clearwell.stores.postgres import require_schema
from clearwell.stores.valkey.overview import WorkingFacts, working_facts
from clearwell.views.settings import mask_address
from clearwell.vocabulary import IngressCheck

NO_EVICTION = "noeviction"
NAMED = 5
"""This many trails are named."""


async def examine(settings: Settings, terminal: Terminal, group: str | None) -> Findings:
    findings = Findings(terminal)
    async with AsyncExitStack() as stack:
        postgres = await _reach(stack, "postgres", running_postgres(settings), findings)
        migrated = postgres is not None and await check_postgres(settings, postgres, findings)
        valkey = await _reach(stack, "working_memory", running_valkey(settings), findings)
        working = None if valkey is None else await check_working(settings, valkey, findings)
        model = await check_embedder(settings, findings)
        await check_judge(settings, findings)
        if postgres is not None and migrated:
            examination = Examination(settings=settings, findings=findings, working=working, model=model, group=group)
            async with open_overview_of(settings, postgres.url) as overview:
                await check_database(examination, overview)
                await check_judge_backlog(examination, overview)
    if postgres is not None:
        await check_audit(settings, findings)
    check_port(settings, findings)
    return findings


async def _reach(
    stack: AsyncExitStack, check: str, server: AbstractAsyncContextManager[ServerAt], findings: Findings
) -> ServerAt | None:
    try:
        return await stack.enter_async_context(server)
    except ClearwellError as error:
        findings.error(check, error)
        return None


async def check_postgres(settings: Settings, at: ServerAt, findings: Findings) -> bool:
    """Whether it answers and has this program's schema."""
    try:
        async with open_overview_of(settings, at.url) as overview:
            facts = await overview.read_server()
        where = _name_place(at, findings.terminal)
        findings.good("postgres", "doctor_postgres", version=facts.version, pgvector=facts.pgvector or "–", where=where)
        await require_schema(at.url)
    except SchemaError as error:
        if at.bundled is not None and error.code == "schema_behind":
            findings.warn("schema", "doctor_schema_bundled", program=program())
        else:
            findings.error("schema", error)
        return False
    except ClearwellError as error:
        findings.error("postgres", error)
        return False
    findings.good("schema", "doctor_schema", version=facts.schema)
    return True


async def check_working(settings: Settings, at: ServerAt, findings: Findings) -> WorkingFacts | None:
    try:
        facts = await working_facts(at.url, timeout_seconds=settings.redis_timeout_seconds)
    except ClearwellError as error:
        findings.error("working_memory", error)
        return None
    where = _name_place(at, findings.terminal)
    findings.good("working_memory", "doctor_working", name=facts.name, version=facts.version, where=where)
    _check_eviction(facts, findings)
    if facts.write_failed:
        findings.bad("persistence", "doctor_write_failed", name=facts.name)
    elif facts.append_only:
        findings.good("persistence", "doctor_append_only", name=facts.name)
    else:
        findings.warn("persistence", "doctor_not_append_only", name=facts.name)
    return facts


def _check_eviction(facts: WorkingFacts, findings: Findings) -> None:
    if facts.policy == NO_EVICTION:
        findings.good("eviction", "doctor_no_eviction", policy=facts.policy)
    elif facts.limited:
        findings.bad("eviction", "doctor_evicts", policy=facts.policy)
    else:
        findings.warn("eviction", "doctor_would_evict", policy=facts.policy)


async def check_embedder(settings: Settings, findings: Findings) -> tuple[str, int] | None:
    """Return the name and the dimensions of the model, if it works."""
    try:
        embedder = make_embedder(settings)
    except ClearwellError as error:
        findings.error("embedder", error)
        return None
    try:
        first = time.perf_counter()
        (vector,) = await embedder.embed(["Clearwell 自检"])
        second = time.perf_counter()
        await embedder.embed(["What does the group know? 群组知道什么？"])
        third = time.perf_counter()
    except ClearwellError as error:
        findings.error("embedder", error)
        return None
    finally:
        await embedder.close()
    params = {"model": embedder.model, "dimensions": len(vector), "ready": f"{second - first:.1f}"}
    if third - second > settings.retrieve_timeout_seconds:
        findings.warn("embedder", "doctor_embedder_slow", **params, seconds=f"{third - second:.1f}")
    else:
        findings.good("embedder", "doctor_embedder", **params, milliseconds=f"{(third - second) * 1000:.0f}")
    return embedder.model, len(vector)


async def check_judge(settings: Settings, findings: Findings) -> None:
    """Ask the judge once, about a harmless text."""
    try:
        chat = make_chat(settings)
    except ClearwellError as error:
        findings.error("judge", error)
        return
    if chat is None:
        _note_absence(settings, findings)
        return
    try:
        await _ask_judge(LLMJudge(chat, max_chars=settings.judge_max_chars), settings, findings)
    except ClearwellError as error:
        findings.error("judge", error)
        if isinstance(error, JudgeUnavailable) and error.detail:
            findings.warn("judge_words", "judge_detail", **error.detail)
    finally:
        await chat.close()


def _note_absence(settings: Settings, findings: Findings) -> None:
    if settings.require_self_consistency and IngressCheck.SELF_CONSISTENCY in settings.ingress_checks:
        findings.bad("judge", "doctor_judge_missing")
    else:
        findings.good("judge", "doctor_judge_none")


async def _ask_judge(judge: LLMJudge, settings: Settings, findings: Findings) -> None:
    started = time.perf_counter()
    judgement = await judge.judge(findings.terminal.words("doctor_judge_text"))
    params = {"model": judge.model, "seconds": f"{time.perf_counter() - started:.2f}"}
    if IngressCheck.SELF_CONSISTENCY not in settings.ingress_checks:
        findings.warn("judge", "doctor_judge_unused", **params)
    elif not judgement.consistent:
        findings.warn("judge", "doctor_judge_objects", **params)
    else:
        findings.good("judge", "doctor_judge", **params)


async def check_audit(settings: Settings, findings: Findings) -> None:
    """Whether the trails of the audit continue the heads in the data folder, and whether heads are kept at all."""
    state = await open_heads(settings, SystemClock()).state()
    if state.refused:
        shown = [group or findings.terminal.words("audit_subject_installation") for group in state.refused[:NAMED]]
        names = findings.terminal.join_names(shown) + (" …" if len(state.refused) > NAMED else "")
        findings.bad("audit", "doctor_audit_refused", count=len(state.refused), names=names, program=program())
    if state.begun:
        findings.warn("audit_heads", "doctor_audit_begun", count=len(state.begun), program=program())
    if state.problem is not None:
        findings.warn("audit_heads", f"doctor_audit_{state.problem}", folder=settings.data_dir, file=FILE_NAME)
    if not state.refused and not state.begun and state.problem is None:
        findings.good("audit", "doctor_audit", count=state.heads)


def check_port(settings: Settings, findings: Findings) -> None:
    if (url := find_api(settings)) is not None:
        findings.good("port", "doctor_port_ours", url=url)
    elif (url := find_foreign_api(settings)) is not None:
        findings.warn("port", "doctor_port_foreign", url=url)
    elif not is_listened_on(settings):
        findings.good("port", "doctor_port_free", port=settings.port)
    else:
        by = find_holder(settings.port)
        name = findings.terminal.words("doctor_somebody") if by is None else f"{by.name} ({by.pid})"
        findings.warn("port", "doctor_port_taken", port=settings.port, name=name)


def _name_place(at: ServerAt, terminal: Terminal) -> str:
    if at.bundled is None:
        return mask_address(at.url)
    return terminal.words("doctor_bundled_started" if at.bundled.started else "doctor_bundled_running")
