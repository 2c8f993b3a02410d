"""Reports of the worker's maintenance."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexChanges:
    """The changes of one round of index maintenance, by group. ``not_owner``: this login may not build indexes."""

    built: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    not_owner: bool = False
