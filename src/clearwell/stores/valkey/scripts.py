"""The scripts that the server runs. Each touches one key, so that it also runs on a cluster."""

from importlib.resources import files


def script(name: str) -> str:
    return files("clearwell.stores.valkey").joinpath(f"{name}.lua").read_text(encoding="utf-8")
