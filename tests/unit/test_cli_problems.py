"""Errors as a person meets them: one sentence on stderr, in the locale's language, and an exit code."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clearwell.adapters.cli import main
from clearwell.adapters.cli.memory import show_retrieval
from clearwell.adapters.cli.terminal import Terminal
from clearwell.version import __version__
from clearwell.views.memories import RetrievalView

Call = Callable[..., tuple[int, str]]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, own_logs: None) -> Call:
    """Run the command line in this process; its exit code and what it said on stderr."""

    def call(*words: str, **variables: str) -> tuple[int, str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["clearwell", *words])
        for name, value in {"CLEARWELL_DATA_DIR": str(tmp_path / "data"), "LC_ALL": "C", **variables}.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        assert said.out == ""
        assert not (tmp_path / "data").exists(), "nothing was started"
        return int(str(end.value.code)), said.err

    return call


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["keys", "create", "--group", "g"], "缺少 --scope"),
        (["keys", "create", "--scope", "write", "--group", "g"], "capture、read、review、admin"),
        (["keys", "create", "--scope", "read"], "--all-groups"),
        (["keys", "create", "--scope", "read", "--group", "g", "--all-groups"], "只能使用一个"),
        (["capture", "text"], "缺少 --group"),
        (["query", "x", "-g", "g", "--max-chars", "-1"], "--max-chars 无效：不能小于 0"),
        (["capture", "-g", "g", "--metadata", "[", "text"], "--metadata 不是有效的 JSON"),
        (["capture", "-g", "g", "--metadata", "[]", "text"], "--metadata 必须是 JSON 对象"),
        (["capture", "-g", "g", "--occurred-at", "now", "text"], "--occurred-at 不是有效的时间"),
        (["ingest", "-g", "g", "--file", "missing.txt"], "无法读取文件 missing.txt"),
        (["ingest", "-g", "g", "--file", "missing.txt", "text"], "只能使用一个"),
        (["query", "-g", "g", "--colour", "text"], "没有选项 --colour"),
        (["explain", "1"], "缺少 --group"),
        (["review", "merge", "-g", "g", "01234567-89ab-7cde-8f01-23456789abcd"], "ID 需要两条或更多洞察"),
        (
            ["review", "snooze", "x", "-g", "g", "--days", "2", "--until", "2027-01-01"],
            "--until 与 --days 不能同时使用",
        ),
        (["retract", "-g", "g"], "--source, --session, --agent 中指定且仅指定一项"),
        (["retract", "-g", "g", "--agent", "a", "--session", "s"], "--source, --session, --agent 中指定且仅指定一项"),
        (["tombstone", "add", "-g", "g", "text"], "缺少 --reason"),
        (["check", "-g", "g", "--metadata", "[]", "text"], "--metadata 必须是 JSON 对象"),
        (["serve", "--port", "70000"], "--port"),
        (["serve", "--workers", "0"], "--workers 无效：不能小于 1"),
        (["serve", "--workers", "-2"], "--workers 无效：不能小于 1"),
        (["serve", "--workers", "17"], "--workers 无效：不能大于 16"),
        (["nonsense"], "没有命令 nonsense。用法"),
        (["querry"], "没有命令 querry。是否要用 query？用法"),
        (
            ["memories", "list", "-g", "g", "--state", "foo"],
            "--state 无效：必须是以下之一：verified、promoting、withdrawn",
        ),
        (["memories", "list", "-g", "g", "--from", "foo"], "必须是以下之一：typed、working、quarantine、insight"),
        (["memories", "list", "-g", "g", "--since", "foo"], "--since 无效：必须是时间，例如 2026-11-15"),
        (["quarantine", "-g", "g", "--admission", "foo"], "必须是以下之一：pending、admitted、refused"),
        (["review", "list", "-g", "g", "--state", "foo"], "必须是以下之一：pending、"),
        (["review", "promote", "x", "-g", "g", "--from", "foo"], "必须是以下之一：insight、quarantine、working"),
    ],
)
def test_a_command_that_was_not_called_right_ends_with_2(call: Call, words: list[str], said: str) -> None:
    code, error = call(*words, LC_ALL="zh_CN.UTF-8")
    assert code == 2
    assert error.startswith("✗ ")
    assert said in error


def test_a_wrong_command_is_answered_in_one_sentence_with_one_full_stop(call: Call) -> None:
    assert call("querry")[1] == "✗ There is no command querry. Did you mean query? See: clearwell --help\n"
    assert call("nonsense")[1] == "✗ There is no command nonsense. See: clearwell --help\n"


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"CLEARWELL_PORT": "many"}, "CLEARWELL_PORT is not valid: it must be a whole number"),
        ({"CLEARWELL_CONFIDENCE_THRESHOLD": "2"}, "CLEARWELL_CONFIDENCE_THRESHOLD is not valid: it must be at most 1"),
        (
            {"CLEARWELL_LANGUAGE": "fr", "LC_ALL": "zh_CN.UTF-8"},
            "CLEARWELL_LANGUAGE 无效：必须是以下之一：auto、en、zh",
        ),
        (
            {"CLEARWELL_CHUNK_SEPARATORS": "x"},
            "CLEARWELL_CHUNK_SEPARATORS is not valid: a list or an object must be written as JSON",
        ),
        (
            {"CLEARWELL_CHUNK_SEPARATORS": "x", "LC_ALL": "zh_CN.UTF-8"},
            "CLEARWELL_CHUNK_SEPARATORS 无效：列表或对象必须写成",
        ),
        ({"CLEARWELL_CHUNK_OVERLAP": "500", "LC_ALL": "zh_CN.UTF-8"}, "CLEARWELL_CHUNK_OVERLAP 无效：必须小于"),
        (
            {"CLEARWELL_DIGEST_CRON": "daily", "LC_ALL": "zh_CN.UTF-8"},
            "CLEARWELL_DIGEST_CRON 无效：必须是五字段的 cron 表达式",
        ),
        ({"CLEARWELL_DIGEST_ZONE": "Mars", "LC_ALL": "zh_CN.UTF-8"}, "CLEARWELL_DIGEST_ZONE 无效：必须是时区名称"),
        (
            {"CLEARWELL_INGRESS_CHECKS": '["taste"]', "LC_ALL": "zh_CN.UTF-8"},
            "必须是不重复的检查项列表，可用的有：confidence",
        ),
        ({"CLEARWELL_INGRESS_CHECKS": '["echo", "length"]'}, "confidence and length must come first"),
        (
            {"CLEARWELL_NODE_POLICIES": '{"x": {"admitt": true}}'},
            "NODE_POLICIES.x.admitt is not valid: there is no such",
        ),
        (
            {"CLEARWELL_NODE_POLICIES": '{"x": 1}', "LC_ALL": "zh_CN.UTF-8"},
            "CLEARWELL_NODE_POLICIES.x 无效：列表或对象必须",
        ),
        ({"CLEARWELL_PORT": "1.5"}, "CLEARWELL_PORT is not valid: it must be a whole number"),
        ({"CLEARWELL_SWEEP_SECONDS": "nan", "LC_ALL": "zh_CN.UTF-8"}, "CLEARWELL_SWEEP_SECONDS 无效：必须"),
        ({"DATABASE_URL": "mysql://joe:hush@host/db"}, "DATABASE_URL is not a PostgreSQL address"),
        ({"DATABASE_URL": "postgresql://joe:hush@127.0.0.1:1/db"}, "PostgreSQL does not respond"),
        ({"CLEARWELL_DATA_DIR": "/dev/null/data", "LC_ALL": "zh_CN.UTF-8"}, "请移走该文件，或用 CLEARWELL_DATA_DIR"),
    ],
)
def test_what_is_set_wrong_is_named_without_its_secret(call: Call, variables: dict[str, str], said: str) -> None:
    code, error = call("keys", "list", **variables)
    assert code == 1
    assert said in error
    assert "hush" not in error


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explain"], "群组 g 中没有产出 x1"),
        (["requeue"], "群组 g 中没有未准入或待处理的产出 x1"),
        (["tombstone", "lift"], "没有可解除的墓碑 x1"),
        (["working", "remove"], "工作记忆中没有条目 x1"),
    ],
)
def test_what_is_no_id_names_nothing(call: Call, words: list[str], said: str) -> None:
    code, error = call(*words, "x1", "-g", "g", LC_ALL="zh_CN.UTF-8")
    assert code == 1
    assert said in error


def test_an_address_of_redis_that_is_none_is_named(call: Call) -> None:
    both = {"DATABASE_URL": "postgresql://127.0.0.1:1/db", "REDIS_URL": "host:6379", "LC_ALL": "zh_CN.UTF-8"}
    code, error = call("query", "-g", "g", "text", **both)
    assert code == 1
    assert "REDIS_URL 不是 Redis 或 Valkey 地址" in error


def test_a_settings_file_that_is_wrong_is_named(call: Call, tmp_path: Path) -> None:
    (tmp_path / "clearwell.toml").write_text("prot = 1\n")
    assert "the unknown setting prot" in call("keys", "list")[1]
    (tmp_path / "clearwell.toml").write_text("port = \n")
    assert "clearwell.toml is not valid TOML at line 1, column 8" in call("keys", "list")[1]
    (tmp_path / "clearwell.toml").write_text("host = 1\nworking_size = 1.5\n")
    said = call("keys", "list", LC_ALL="zh_CN.UTF-8")[1]
    assert "CLEARWELL_HOST 无效：必须是字符串" in said
    assert "CLEARWELL_WORKING_SIZE 无效：必须是整数" in said


def test_the_version_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["clearwell", "--version"])
    with pytest.raises(SystemExit, match="0"):
        main()
    assert capsys.readouterr().out == f"clearwell {__version__}\n"


def test_an_empty_answer_and_a_missing_part_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    found = RetrievalView(results=(), degraded=("working_memory", "embedder"), sources=())
    show_retrieval(found, "nowhere", Terminal("en"))
    said = capsys.readouterr()
    assert "Nothing was found in the group nowhere" in said.out
    assert "Working memory did not respond" in said.err
    assert "The embedding model did not respond" in said.err
