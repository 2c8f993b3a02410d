"""No address is shown with its password."""

import pytest
from pydantic import SecretStr

from clearwell.settings import Settings
from clearwell.views.installation import SettingsView
from clearwell.views.settings import mask_address, mask_setting


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://joe:hush@db:5432/x", "postgresql://joe:****@db:5432/x"),
        ("postgresql://joe@db/x", "postgresql://joe@db/x"),
        ("postgresql://joe:h@u:sh@db/x", "postgresql://joe:****@db/x"),
        ("postgresql://clearwell@%2Ftmp%2Frun:5432/clearwell", "postgresql://clearwell@%2Ftmp%2Frun:5432/clearwell"),
        ("postgresql://db/x?user=joe&password=hush", "postgresql://db/x?user=joe&password=****"),
        ("redis://:hush@r:6379/0", "redis://:****@r:6379/0"),
        ("unix:///tmp/a%20b/valkey.sock?db=3", "unix:///tmp/a%20b/valkey.sock?db=3"),
        ("host=db user=joe password=hush dbname=x", "host=db user=joe password=**** dbname=x"),
        (r"host=db password='hu\'sh and more' dbname=x", "host=db password=**** dbname=x"),
        ("postgresql://joe:hush@[::1/x", "****"),
    ],
)
def test_a_password_is_hidden_wherever_it_stands(address: str, shown: str) -> None:
    assert mask_address(address) == shown


def test_a_key_is_hidden_whole_and_other_values_are_shown() -> None:
    assert mask_setting("embedding_api_key", SecretStr("sk-hush")) == "****"
    assert mask_setting("database_url", SecretStr("postgresql://joe:hush@db/x")) == "postgresql://joe:****@db/x"
    assert mask_setting("embedding_base_url", "https://joe:hush@api/v1") == "https://joe:****@api/v1"
    assert mask_setting("port", 8080) == 8080


def test_the_console_shows_no_secret_among_the_settings() -> None:
    url = SecretStr("postgresql://joe:hush@db/x")
    view = SettingsView.from_settings(Settings(database_url=url, judge_api_key=SecretStr("hush")))
    shown = {each.variable: each for each in view.settings}
    assert "hush" not in str(shown)
    assert shown["CLEARWELL_JUDGE_API_KEY"].value == "****"
    assert shown["CLEARWELL_CONFIDENCE_THRESHOLD"].value == "0.8"
