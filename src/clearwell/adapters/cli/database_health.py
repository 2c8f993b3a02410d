"""The checks of ``doctor`` in the database: ingress, retrieval, backlog, chunks, judge, model and keys."""

import shlex
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from clearwell.adapters.cli.addresses import is_loopback
from clearwell.adapters.cli.command import program
from clearwell.adapters.cli.findings import Findings
from clearwell.adapters.cli.known_groups import find_similar
from clearwell.flow.reembedding.models import list_startable
from clearwell.flow.retrieval.bm25 import Bm25
from clearwell.messages import catalogue
from clearwell.ports import TOMBSTONED
from clearwell.records import UNASSIGNED, Admission, Reembedding
from clearwell.settings import Settings
from clearwell.stores.postgres.overview import Counts, IngressSummary, Overview
from clearwell.stores.valkey.overview import WorkingFacts

LATE = timedelta(minutes=1)
DAY = timedelta(days=1)
WEEK = timedelta(days=7)
NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What is known before the database is checked; None for what did not respond."""

    settings: Settings
    findings: Findings
    working: WorkingFacts | None
    model: tuple[str, int] | None
    group: str | None


async def check_database(examination: Examination, overview: Overview) -> None:
    counts = await overview.read_counts() if await overview.sees_all() else None
    check_model(examination, await overview.read_models(), await overview.read_last_reembedding())
    if counts is None:
        examination.findings.warn("counts", "doctor_counts_hidden")
    await check_ingress(examination, overview, everywhere=counts is not None)
    if examination.group is not None:
        await check_group(examination, examination.group, overview, counts)
    elif counts is not None:
        check_silent_groups(examination, counts)
    if counts is not None:
        check_pending(examination, counts)
    await check_promotions(examination, overview, everywhere=counts is not None)
    await check_chunks(examination, overview, everywhere=counts is not None)
    await check_keys(examination, overview)


def check_model(examination: Examination, stored: dict[str, int], reembedding: Reembedding | None) -> None:
    """Vectors of two models cannot be compared: ``serve`` refuses to start on them, by the same rule."""
    if examination.model is None or not stored:
        return
    name, dimensions = examination.model
    usable = list_startable(stored, reembedding)
    if name not in usable:
        known, settings = ", ".join(sorted(usable)), next(iter(usable.values())).assignments()
        examination.findings.bad("model", "doctor_model_other", stored=known, configured=name, settings=settings)
    elif stored.get(name, dimensions) != dimensions:
        examination.findings.bad("model", "doctor_model_size", model=name, stored=stored[name], configured=dimensions)
    else:
        examination.findings.good("model", "doctor_model", model=name)


async def check_ingress(examination: Examination, overview: Overview, *, everywhere: bool) -> None:
    """What the ingress pipeline refused in the last day, and what to do about the commonest reason."""
    since = datetime.now(UTC) - DAY
    if examination.group is not None:
        summary = await overview.read_ingress_summary_in(examination.group, since=since)
    elif everywhere:
        summary = await overview.read_ingress_summary(since=since)
    else:
        return
    refused, admitted = summary.admissions[Admission.REFUSED], summary.admissions[Admission.ADMITTED]
    if not refused:
        examination.findings.good("ingress", "doctor_ingress_none", admitted=admitted)
        return
    tell = examination.findings.warn if refused > admitted else examination.findings.good
    tell("ingress", "doctor_ingress", **_ingress_params(examination, summary), refused=refused, admitted=admitted)


def _ingress_params(examination: Examination, summary: IngressSummary) -> dict[str, object]:
    words, name = examination.findings.terminal.words, examination.findings.terminal.name
    by_check: dict[str, int] = {}
    for refusal in summary.refusals:
        by_check[refusal.check] = by_check.get(refusal.check, 0) + refusal.rows
    code = f"doctor_refused_{summary.refusals[0].reason.removeprefix('verdict_')}" if summary.refusals else ""
    if code not in catalogue():
        code = "doctor_refused_other"
    settings = examination.settings
    limits: dict[str, object] = {
        "confidence": settings.confidence_threshold,
        "width": settings.min_width,
        "similarity": settings.duplicate_similarity,
        "echo": settings.echo_coverage,
        "program": program(),
    }
    return {
        "checks": examination.findings.terminal.join_names(
            f"{name(f'check_{check}', check)} {rows}" for check, rows in by_check.items()
        ),
        "reason": words(code, **limits),
        "what_to_do": words(f"{code}_do", **limits),
    }


async def check_group(examination: Examination, group: str, overview: Overview, counts: Counts | None) -> None:
    """Why retrieval in this group may answer nothing."""
    memories = await overview.read_memories_in(group)
    live = None if examination.working is None else examination.working.groups.get(group, 0)
    findings = examination.findings
    if not memories and live is None:
        return  # that working memory does not answer was said before
    if not memories and not live:
        similar = find_similar(group, [] if counts is None else counts.groups)
        code = "doctor_group_empty_similar" if similar and group not in similar else "doctor_group_empty"
        findings.warn("retrieval", code, group=group, similar=findings.terminal.join_names(similar), program=program())
        return
    shown = "?" if live is None else live
    findings.good("retrieval", "doctor_group", group=group, live=shown, memories=sum(memories.values()))
    others = {name: count for name, count in memories.items() if examination.model and name != examination.model[0]}
    if others and examination.model:
        models = ", ".join(sorted(others))
        count = sum(others.values())
        findings.bad("retrieval", "doctor_group_model", count=count, models=models, configured=examination.model[0])


def check_silent_groups(examination: Examination, counts: Counts) -> None:
    """Groups whose every query answers empty."""
    if examination.working is None:
        return
    live = examination.working.groups
    known = {group: has for group, has in counts.groups.items() if group != UNASSIGNED}
    silent = [group for group, has_memories in known.items() if not has_memories and group not in live]
    if not silent:
        examination.findings.good("retrieval", "doctor_retrieval", groups=len(known | dict.fromkeys(live, True)))
        return
    names = ", ".join(silent[:NAMED]) + (" …" if len(silent) > NAMED else "")
    examination.findings.warn("retrieval", "doctor_retrieval_silent", count=len(silent), names=names, program=program())


def check_pending(examination: Examination, counts: Counts) -> None:
    pending = counts.pending
    late = pending.oldest is not None and datetime.now(UTC) - pending.oldest > LATE
    if late and pending.oldest is not None:
        age = examination.findings.terminal.age(pending.oldest)
        params = {"rows": pending.rows, "age": age, "attempts": pending.attempts}
        examination.findings.warn("pending", "doctor_pending_late", **params, program=program())
    else:
        examination.findings.good("pending", "doctor_pending", rows=pending.rows)


async def check_promotions(examination: Examination, overview: Overview, *, everywhere: bool) -> None:
    """What people decided and is not carried out yet, and why."""
    if examination.group is not None:
        waiting = await overview.read_waiting_in(examination.group)
    elif everywhere:
        waiting = await overview.read_waiting()
    else:
        return
    if not waiting:
        examination.findings.good("promotions", "doctor_promotions")
    for one in waiting:
        code = "doctor_promotions_refused" if one.problem == TOMBSTONED else "doctor_promotions_waiting"
        age = examination.findings.terminal.age(one.oldest)
        params = {"rows": one.rows, "age": age, "id": one.memory_id, "group": one.group_id}
        examination.findings.warn("promotions", code, **params, program=program())


async def check_chunks(examination: Examination, overview: Overview, *, everywhere: bool) -> None:
    """Whether long-term memory has the chunks and terms of everything that was promoted and is in force."""
    version = Bm25().version
    if examination.group is not None:
        lost = await overview.read_lost_memories_in(examination.group)
        terms = await overview.read_outdated_terms_in(examination.group, version)
    elif everywhere:
        lost, terms = await overview.read_lost_memories(), await overview.read_outdated_terms(version)
    else:
        return
    findings = examination.findings
    if lost.memories:
        params = {"memories": lost.memories, "groups": lost.groups, "group": lost.group_id}
        findings.bad("chunks", "doctor_chunks_lost", **params, program=program())
    if lost.changed:
        params = {"memories": lost.changed, "groups": lost.changed_groups, "group": lost.changed_group_id}
        findings.bad("chunks", "doctor_chunks_changed", **params, program=program())
    if not lost.memories and not lost.changed:
        findings.good("chunks", "doctor_chunks")
    if terms.groups:
        findings.warn("terms", "doctor_terms_outdated", groups=terms.groups, group=terms.group_id, program=program())


async def check_keys(examination: Examination, overview: Overview) -> None:
    keys = await overview.read_keys()
    findings, host = examination.findings, examination.settings.host
    if keys.valid + keys.revoked == 0 and is_loopback(host):
        findings.warn("access", "doctor_local_mode", program=program())
    elif keys.valid + keys.revoked == 0:
        findings.bad("access", "doctor_open_bind", host=host, program=program())
    elif keys.valid == 0:
        findings.warn("access", "doctor_no_valid_key", program=program())
    elif keys.reviewers == 0:
        findings.warn("access", "doctor_no_reviewer", valid=keys.valid, program=program())
    else:
        findings.good("access", "doctor_keys", valid=keys.valid, reviewers=keys.reviewers)


async def check_judge_backlog(examination: Examination, overview: Overview) -> None:
    """Report the rows that wait for the judge, and those refused because it never answered."""
    since = datetime.now(UTC) - WEEK
    if examination.group is not None:
        backlog = await overview.read_judge_backlog_in(examination.group, since=since)
    elif await overview.sees_all():
        backlog = await overview.read_judge_backlog(since=since)
    else:
        return
    if backlog.waiting:
        examination.findings.warn("judge_pending", "doctor_judge_waiting", rows=backlog.waiting, program=program())
    if backlog.failures is not None:
        newest = backlog.failures
        params = {"rows": newest.rows, "id": newest.log_id, "group": shlex.quote(newest.group_id)}
        examination.findings.warn("judge_gave_up", "doctor_judge_gave_up", **params, program=program())
