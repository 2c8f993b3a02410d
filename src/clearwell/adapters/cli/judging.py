"""The part of ``doctor`` that is about the judge: whether it answers, and the rows that it kept waiting."""

import shlex
import time
from datetime import UTC, datetime, timedelta

from clearwell.adapters.cli.findings import Findings
from clearwell.adapters.cli.inside import Inside
from clearwell.adapters.cli.running import program
from clearwell.app import make_chat
from clearwell.errors import ClearwellError, JudgeUnavailable
from clearwell.flow.ingress.checks import SELF_CONSISTENCY
from clearwell.models import LLMJudge
from clearwell.settings import Settings
from clearwell.stores.postgres.overview import Overview

WEEK = timedelta(days=7)


async def check_judge(settings: Settings, findings: Findings) -> None:
    """Ask it once, about a text that nobody can object to."""
    try:
        chat = make_chat(settings)
    except ClearwellError as error:
        findings.error("judge", error)
        return
    if chat is None:
        _tell_absence(settings, findings)
        return
    try:
        await _ask(LLMJudge(chat, max_chars=settings.judge_max_chars), settings, findings)
    except ClearwellError as error:
        findings.error("judge", error)
        if isinstance(error, JudgeUnavailable) and error.detail:
            findings.mind("judge_words", "judge_detail", **error.detail)
    finally:
        await chat.close()


def _tell_absence(settings: Settings, findings: Findings) -> None:
    if settings.require_self_consistency and SELF_CONSISTENCY in settings.filter_checks:
        findings.bad("judge", "doctor_judge_missing")
    else:
        findings.good("judge", "doctor_judge_none")


async def _ask(judge: LLMJudge, settings: Settings, findings: Findings) -> None:
    started = time.perf_counter()
    judgement = await judge.judge(findings.terminal.words("doctor_judge_text"))
    params = {"model": judge.model, "seconds": f"{time.perf_counter() - started:.2f}"}
    if SELF_CONSISTENCY not in settings.filter_checks:
        findings.mind("judge", "doctor_judge_unused", **params)
    elif not judgement.consistent:
        findings.mind("judge", "doctor_judge_objects", **params)
    else:
        findings.good("judge", "doctor_judge", **params)


async def check_judged(inside: Inside, overview: Overview) -> None:
    """Rows that wait for the judge, and rows that it left unanswered to the last try."""
    since = datetime.now(UTC) - WEEK
    if inside.group is not None:
        judged = await overview.judged_in(inside.group, since=since)
    elif await overview.sees_all():
        judged = await overview.judged(since=since)
    else:
        return
    if judged.waiting:
        inside.findings.mind("judge_pending", "doctor_judge_waiting", rows=judged.waiting, program=program())
    if judged.given_up is not None:
        newest = judged.given_up
        params = {"rows": newest.rows, "id": newest.log_id, "group": shlex.quote(newest.group_id)}
        inside.findings.mind("judge_gave_up", "doctor_judge_gave_up", **params, program=program())
