"""The tokens that a model's API reports while the model is evaluated."""

from clearwell.records import TokenUsage


class TokenTally:
    """Adds up the tokens of requests."""

    def __init__(self) -> None:
        self._total: TokenUsage | None = None

    def record(self, usage: TokenUsage) -> None:
        self._total = usage if self._total is None else self._total + usage

    def take(self) -> TokenUsage | None:
        """Return the sum since the last call, or None if nothing was reported."""
        total, self._total = self._total, None
        return total
