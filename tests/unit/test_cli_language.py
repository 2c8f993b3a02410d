"""Chinese by locale, as every program decides it; and every sentence that the command line uses is there."""

import re
from pathlib import Path

import pytest

import clearwell.adapters.cli
from clearwell.messages import catalogue
from clearwell.settings import Settings, locale_language


@pytest.mark.parametrize(
    ("variables", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_US.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "zh_TW.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
    ],
)
def test_the_first_variable_that_is_set_decides(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], language: str
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert locale_language() == language
    assert Settings().display_language == language
    assert Settings(language="zh").display_language == "zh"


def test_every_sentence_that_is_used_is_there() -> None:
    folder = Path(clearwell.adapters.cli.__file__).parent
    text = "\n".join(path.read_text() for path in folder.glob("*.py"))
    used = set(re.findall(r'"((?:cli|doctor)_[a-z0-9_]+)"', text))
    assert len(used) > 100
    assert used <= set(catalogue())


def test_advice_is_filled_in_by_what_its_finding_is_filled_in_with() -> None:
    for code, entry in catalogue().items():
        if code.startswith("doctor_") and code.endswith("_do") and not code.startswith("doctor_ingress"):
            finding = catalogue()[code.removesuffix("_do")]
            names = set(re.findall(r"{(\w+)}", entry["en"])) - {"program", "settings"}
            assert names <= set(re.findall(r"{(\w+)}", finding["en"])), code
