"""The named statements as the driver gets them."""

from psycopg._queries import MAX_CACHED_STATEMENT_LENGTH, MAX_CACHED_STATEMENT_PARAMS

from clearwell.stores.postgres.queries import queries


def test_every_statement_is_short_enough_to_be_parsed_once() -> None:
    """A longer one is parsed anew by the driver each time: a quarter of a millisecond for a search."""
    assert {name for name, text in queries().items() if len(text) > MAX_CACHED_STATEMENT_LENGTH} == set()
    assert {name for name, text in queries().items() if text.count("%(") > 2 * MAX_CACHED_STATEMENT_PARAMS} == set()


def test_comments_stay_at_home() -> None:
    assert not any("--" in text for text in queries().values())
