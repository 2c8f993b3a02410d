"""Print the versions that are installed, as a constraints file: names and versions only."""

from importlib.metadata import distributions

OWN = {"clearwell", "pip", "setuptools", "wheel"}

pinned = {found.metadata["Name"].lower().replace("_", "-"): found.version for found in distributions()}
for name, version in sorted(pinned.items()):
    if name not in OWN:
        print(f"{name}=={version}")
