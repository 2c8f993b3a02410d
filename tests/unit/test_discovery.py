"""Commands find the server of their data folder by its file, and no other server."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clearwell.client.discovery import ServerInfo, find_servers, fingerprint_stores, publish
from clearwell.settings import Settings

URL = "http://127.0.0.1:8080"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", database_url=None, redis_url=None)


@pytest.fixture
def published(settings: Settings) -> Iterator[ServerInfo]:
    info = ServerInfo.describe(settings, URL)
    with publish(settings, info):
        yield info


def files(settings: Settings) -> list[Path]:
    return [*(settings.data_dir / "run").iterdir()]


def test_a_server_is_found_while_it_runs_and_its_file_is_for_its_user_alone(settings: Settings) -> None:
    assert find_servers(settings) == []
    info = ServerInfo.describe(settings, URL)
    with publish(settings, info):
        assert find_servers(settings) == [info]
        (path,) = files(settings)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(settings.data_dir.stat().st_mode) == 0o700
    assert files(settings) == []
    assert find_servers(settings) == []


def test_every_server_has_a_token_of_its_own(settings: Settings) -> None:
    tokens = {ServerInfo.describe(settings, URL).token for _ in range(3)}
    assert len(tokens) == 3
    assert all(len(token) >= 40 for token in tokens)


@pytest.mark.linux
def test_the_file_of_a_killed_server_is_recognised_and_removed(settings: Settings) -> None:
    script = f"""
import os, signal
from pathlib import Path
from clearwell.client.discovery import ServerInfo, publish
from clearwell.settings import Settings
settings = Settings(data_dir=Path({str(settings.data_dir)!r}), database_url=None, redis_url=None)
with publish(settings, ServerInfo.describe(settings, {URL!r})):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert len(files(settings)) == 1
    assert find_servers(settings) == []
    assert files(settings) == []


def test_a_server_of_other_stores_is_not_used(settings: Settings, published: ServerInfo) -> None:
    elsewhere = settings.model_copy(update={"database_url": Settings(database_url="postgresql://db/x").database_url})
    assert find_servers(elsewhere) == []
    assert find_servers(settings) == [published]
    assert fingerprint_stores(settings) != fingerprint_stores(elsewhere)
    assert "postgresql" not in fingerprint_stores(elsewhere)


def test_a_folder_is_the_same_behind_a_link(settings: Settings, published: ServerInfo, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(settings.data_dir)
    assert find_servers(settings.model_copy(update={"data_dir": tmp_path / "link"})) == [published]


def test_a_server_of_another_version_and_a_file_that_is_none_are_not_used(
    settings: Settings, published: ServerInfo
) -> None:
    (path,) = files(settings)
    described = json.loads(path.read_text())
    for content in (json.dumps({**described, "version": "0.0.1"}), "{", "[]", json.dumps({"url": URL})):
        path.write_text(content)
        assert find_servers(settings) == []
        assert path.exists(), "the server holds its lock"


@pytest.mark.root
def test_the_file_of_another_user_is_not_used(settings: Settings, published: ServerInfo) -> None:
    (path,) = files(settings)
    os.chown(path, 65534, -1)
    assert find_servers(settings) == []
    assert path.exists()
