"""The named statements as the server gets them."""

from clearwell.stores.postgres.connection import parse_placeholders
from clearwell.stores.postgres.queries import queries


def test_a_name_becomes_one_number_wherever_it_stands() -> None:
    text, names = parse_placeholders("SELECT %(a)s, %(b)s, %(a)s, 'ten %%', format('%%I')")
    assert text == b"SELECT $1, $2, $1, 'ten %', format('%I')"
    assert names == ("a", "b")


def test_no_percent_sign_is_left_unread() -> None:
    escaped = {name for name, text in queries().items() if "%%" in text}
    assert {name for name, text in queries().items() if b"%" in parse_placeholders(text)[0]} == escaped


def test_comments_stay_at_home() -> None:
    assert not any("--" in text for text in queries().values())
