"""What the worker's maintenance reports."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexChanges:
    """What one round of index maintenance did, by group. ``not_owner``: this login may not build indexes."""

    built: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    not_owner: bool = False
