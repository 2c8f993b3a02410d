"""Chinese or English by Accept-Language."""

import pytest

from clearwell.adapters.http.language import choose_language


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("zh", "zh"),
        ("ZH-cn", "zh"),
        ("zh-Hant-TW, en;q=0.5", "zh"),
        ("en, zh", "en"),
        ("zh, en", "zh"),
        ("en;q=0.4, zh;q=0.6", "zh"),
        ("zh;q=0.4, en;q=0.6", "en"),
        ("zh;q=0", "en"),
        ("zh;q=0, en;q=0", "en"),
        ("fr, de;q=0.9", "en"),
        ("fr, zh;q=0.1", "zh"),
        ("*", "en"),
        ("zh;q=high", "en"),
        ("zhuang", "en"),
    ],
)
def test_the_preferred_language_is_chosen(accepted: str, language: str) -> None:
    assert choose_language(accepted) == language
