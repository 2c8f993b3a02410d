"""``doctor`` finds what the protocol's trouble-shooting names, and says what to do."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import redis

from clearwell.ports import TOMBSTONED
from tests.integration.cli.program import Program, free_port

SHORT = "too short"


def statuses(answer: Any) -> dict[str, str]:
    return {check["check"]: check["status"] for check in answer["checks"]}


def test_a_sound_installation_has_no_problem(program: Program) -> None:
    port = str(free_port())
    told = program.but(CLEARWELL_PORT=port).good("doctor")
    assert "✗" not in told.out
    assert "No problems found" in told.out
    assert "use-multilingual-v3 works: 512 dimensions" in told.out
    assert "The schema is up to date" in told.out
    assert f"Port {port} is free" in told.out
    assert "Local mode" in told.out


def test_without_redis_it_says_so_and_goes_on(program: Program) -> None:
    ran = program.chinese().but(REDIS_URL="redis://127.0.0.1:1/0").run("doctor", "--json")
    assert ran.code == 1
    found = statuses(ran.json)
    assert found["working_memory"] == "problem"
    assert found["postgres"] == found["schema"] == found["embedder"] == "ok"
    (line,) = [check["text"] for check in ran.json["checks"] if check["check"] == "working_memory"]
    assert "工作记忆（Redis 或 Valkey）没有响应" in line
    assert "REDIS_URL" in line


def test_it_explains_refusals_an_empty_group_and_a_backlog(program: Program, database_url: str) -> None:
    program.good("capture", "-g", "harbour", SHORT)
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE quarantine_logs SET created_at = created_at - interval '1 hour'")
        connection.execute("UPDATE admissions SET state = 'pending', settled_at = NULL")
    told = program.good("doctor", "-g", "harbor").out
    assert "The group harbor has no entries in working memory (key wm:harbor) and no long-term memories" in told
    assert "Groups with similar names: harbour" in told
    assert "Outputs waiting for admission: 1. The oldest was captured 1 h ago" in told
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE admissions SET state = 'refused', settled_at = now()")
    told = program.chinese().good("doctor").out
    assert "准入 0 条，拒绝 1 条（长度 1）。最常见的原因：文本宽度不足 50 列" in told
    assert "CLEARWELL_MIN_WIDTH" in told
    assert "1 个群组既没有工作记忆条目，也没有长期记忆，查询结果为空（harbour）" in told


def test_it_names_promotions_that_are_not_carried_out(program: Program, database_url: str) -> None:
    made = program.good("ingest", "-g", "harbour", "The crane is painted green.", "--json").json
    waits = "INSERT INTO promotion_work (group_id, promotion_id, next_try_at, problem) SELECT group_id, id, now(), %s"
    for problem, told in (("embedder_unreachable", "waiting for the embedding model: 1"), (TOMBSTONED, "on hold")):
        with psycopg.connect(database_url) as connection:
            connection.execute("DELETE FROM promotion_work")
            connection.execute(waits + " FROM promotions", (problem,))
        for arguments in ((), ("-g", "harbour")):
            shown = program.good("doctor", *arguments).out
            assert told in shown
            assert made["id"][-8:] in shown


def test_json_is_all_that_is_printed_when_the_judge_does_not_answer(program: Program) -> None:
    judged = program.but(CLEARWELL_JUDGE_BASE_URL="http://127.0.0.1:1/v1", CLEARWELL_JUDGE_MODEL="m")
    ran = judged.run("doctor", "--json")
    assert ran.code == 1
    assert statuses(ran.json)["judge"] == "problem"
    assert ran.err == ""


@pytest.fixture
def evicting(redis_url: str) -> Iterator[None]:
    with redis.Redis.from_url(redis_url) as server:
        server.config_set("maxmemory-policy", "allkeys-lru")
        server.config_set("maxmemory", "1gb")
        yield
        server.config_set("maxmemory", "0")
        server.config_set("maxmemory-policy", "noeviction")


@pytest.mark.usefixtures("evicting")
def test_settings_of_the_servers_that_break_promises_are_problems(program: Program, database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("INSERT INTO embedding_models VALUES ('another-model', 3, now())")
    ran = program.but(CLEARWELL_HOST="192.0.2.1").run("doctor", "--json")
    assert ran.code == 1
    found = statuses(ran.json)
    assert found["eviction"] == found["model"] == found["access"] == "problem"
    advice = " ".join(check["advice"] or "" for check in ran.json["checks"])
    assert "maxmemory-policy noeviction" in advice
    assert "CLEARWELL_EMBEDDER=openai CLEARWELL_EMBEDDING_MODEL=another-model" in advice
