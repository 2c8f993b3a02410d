"""Counts of this process for metrics: admissions, verdicts, decisions and lost events since it started."""

from collections import Counter
from collections.abc import Mapping, Sequence

from clearwell.records import Action, Admission, Verdict


class Counters:
    """Counts in memory. Numbers that must survive a restart are counted in the database."""

    def __init__(self) -> None:
        self._verdicts: Counter[tuple[str, str, str, str]] = Counter()
        self._admissions: Counter[tuple[str, str]] = Counter()
        self._decisions: Counter[tuple[str, str]] = Counter()
        self._lost_events: Counter[tuple[str]] = Counter()

    def count_admission(
        self, group_id: str, agent_id: str | None, state: Admission, verdicts: Sequence[Verdict]
    ) -> None:
        self._admissions[group_id, state] += 1
        self._verdicts.update((group_id, agent_id or "", verdict.check, verdict.outcome) for verdict in verdicts)

    def count_decision(self, group_id: str, action: Action) -> None:
        self._decisions[group_id, action] += 1

    def count_lost_event(self, group_id: str) -> None:
        self._lost_events[(group_id,)] += 1

    @property
    def verdicts(self) -> Mapping[tuple[str, str, str, str], int]:
        """By group, agent, check and outcome."""
        return self._verdicts

    @property
    def admissions(self) -> Mapping[tuple[str, str], int]:
        """By group and state."""
        return self._admissions

    @property
    def decisions(self) -> Mapping[tuple[str, str], int]:
        """By group and action."""
        return self._decisions

    @property
    def lost_events(self) -> Mapping[tuple[str], int]:
        """Events that could not be written to their stream, by group."""
        return self._lost_events
