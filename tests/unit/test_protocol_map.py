"""The protocol map is true: every file and every test that it names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/protocol-map.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`((?:src|tests)/[^`:]+)(?:::(\w+))?`", TEXT)


def test_every_file_and_test_named_is_there() -> None:
    assert len(NAMED) > 60
    missing = [
        f"{path}::{name}"
        for path, name in NAMED
        if not (ROOT / path).exists() or (name and f"def {name}(" not in (ROOT / path).read_text(encoding="utf-8"))
    ]
    assert missing == []


def test_every_rule_has_its_code_and_its_test() -> None:
    rules = [line for line in TEXT.splitlines() if re.match(r"^\| .* \| [0-9a-z, ]+ \| `src/", line)]
    assert len(rules) > 30
    assert [rule for rule in rules if "`tests/" not in rule] == []
