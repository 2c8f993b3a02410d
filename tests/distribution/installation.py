"""Virtual environments with the wheel, made from the package index that pip is set up with."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, folder: Path, environment: dict[str, str] | None = None) -> str:
    """Run a command that has to succeed, and return what it printed."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout


def install(environment: Path, wheel: Path, *, extra: str | None = None, like: Path | None = None) -> Path:
    """Install the wheel in a virtual environment that has nothing, or what the other one has; returns its commands."""
    run(sys.executable, "-m", "venv", "--without-pip", environment, folder=environment.parent)
    if like is not None:
        packages = next(environment.glob("lib/python*/site-packages"))
        found = next(like.glob("lib/python*/site-packages"))
        shutil.copytree(found, packages, copy_function=os.link, dirs_exist_ok=True)
    pip = (sys.executable, "-m", "pip", "--python", environment / "bin" / "python")
    options = ("--quiet", "--no-compile", "--constraint", ROOT / "constraints.txt")
    wanted = str(wheel) if extra is None else f"{wheel}[{extra}]"
    run(*pip, "install", *options, wanted, folder=environment.parent)
    return environment / "bin"
