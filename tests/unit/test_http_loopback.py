"""Which addresses only this machine can reach."""

import pytest

from clearwell.adapters.http.callers import is_loopback


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"])
def test_a_loopback_address_is_known(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    ["0.0.0.0", "::", "", "10.0.0.1", "127.0.0.1.example.com", "localhost.example", "::ffff:10.0.0.1", "127.1"],  # noqa: S104
)
def test_any_other_address_is_not_loopback(host: str) -> None:
    assert not is_loopback(host)
