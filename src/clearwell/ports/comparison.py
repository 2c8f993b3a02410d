"""Whether two statements say the same."""

from typing import Protocol

from clearwell.records import Comparison


class StatementComparison(Protocol):
    """Decides whether two statements are the same, in conflict, or about different things.

    ``clearwell.comparison`` has the answer that needs no model. Admission, the digest and review use the same one.
    """

    def compare(self, new: str, known: str, similarity: float) -> Comparison:
        """Compare a new statement with a known one, given their similarity on the embedder's calibrated scale.

        It may take milliseconds. Callers compare large texts in a thread.
        """
        ...
