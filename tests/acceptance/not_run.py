"""Commands in the documentation that the tests do not run, each with the reason."""

import re

NOT_RUN = {
    r"pip install ": "the tests already run in an environment with every extra",
    r"make (serve|test)$": "starts the server or the tests that are already running",
    r"\S*=\S+ (\S*=\S+ )*make serve$": "the server of the tests is already running",
    r"source \.venv/bin/activate$": "the tests already run in an environment",
    r"clearwell serve\b": "the server of the tests is already running",
    r"(curl -N|clearwell events) ": "runs until it is stopped",
    r"clearwell worker$": "runs until it is stopped",
    r"(\S*=\S+ )?clearwell (backup|restore) ": "needs a bundled PostgreSQL, see test_backup.py",
    r"CLEARWELL_DATA_DIR=\S+ clearwell doctor$": "follows such a restore",
    r"clearwell reembed --model text-embedding": "needs a key of a paid API",
}


def reason(command: str) -> str | None:
    """Return why a command is not run, or None if it is."""
    return next((why for pattern, why in NOT_RUN.items() if re.match(pattern, command)), None)
