"""Make the project's own virtual environment, or find that it is already as it should be.

Uses nothing but the standard library. Two runs at once wait for one another.
"""

import argparse
import fcntl
import hashlib
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
ENVIRONMENT = PROJECT / ".venv"
OLDEST = (3, 11)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dev", action="store_true", help="also what the tests and checks need")
    wanted = parser.parse_args()
    if sys.version_info < OLDEST:
        sys.exit(
            f"Clearwell needs Python 3.11 or later, this is {sys.version.split()[0]}. Run: make PYTHON=python3.12 …"
        )
    with (PROJECT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for extra in ("", "dev") if wanted.dev else ("",):
            install(extra)


def install(extra: str) -> None:
    stamp = ENVIRONMENT / f"installed{'-' + extra if extra else ''}"
    state = fingerprint()
    if stamp.exists() and stamp.read_text() == state:
        return
    if not (ENVIRONMENT / "bin" / "python").exists():
        make_environment()
    say(f"Installing Clearwell{f' and its {extra} tools' if extra else ''} into {ENVIRONMENT} …")
    target = f"{PROJECT}[{extra}]" if extra else str(PROJECT)
    command = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", target]
    run([str(ENVIRONMENT / "bin" / "python"), *command, "--constraint", str(PROJECT / "constraints.txt")])
    stamp.write_text(state)


def make_environment() -> None:
    say(f"Making a virtual environment in {ENVIRONMENT} …")
    made = subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=False)
    if made.returncode:
        sys.exit(
            "The virtual environment could not be made. On Debian and Ubuntu, install python3-venv, then try again."
        )


def fingerprint() -> str:
    """Changes when the environment has to be made again: other requirements, another Python, another place."""
    told = [sys.version, str(PROJECT)]
    told += [(PROJECT / name).read_text() for name in ("pyproject.toml", "constraints.txt")]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()


def run(command: list[str]) -> None:
    done = subprocess.run(command, check=False)
    if done.returncode:
        sys.exit(f"This failed, with the reason above: {' '.join(command)}")


def say(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    main()
