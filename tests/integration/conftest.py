"""What every integration test shares."""

import pytest

from clearwell.models.offline import Encoder, load_use


@pytest.fixture(scope="session", autouse=True)
def loaded_model() -> Encoder:
    """Keeps the weights in memory, so that a program that a test opens in this process does not read them again."""
    return load_use()
