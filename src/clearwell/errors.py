"""One tree of errors.

::

    ClearwellError
    ├── InvalidInput            a value is outside its limits: field, limit
    │   ├── WrongStructure      a request does not have the form that it needs: its flaws
    │   ├── TooLarge            text or body above its size limit
    │   └── IdempotencyMismatch the same Idempotency-Key with another request
    ├── Unauthenticated         no key, or one that is not valid
    ├── NotAllowed              the caller may not do this
    ├── NotFound                no such row in this group
    ├── Conflict                what was asked does not fit what is there now
    ├── StillRunning            the first request with this Idempotency-Key has not ended
    ├── Unavailable             a part that is needed did not answer
    │   ├── DatabaseUnavailable
    │   ├── ModelsMoved         the database began to move to another embedding model
    │   ├── WorkingMemoryUnavailable
    │   ├── EmbedderUnavailable
    │   ├── JudgeUnavailable    of the language model: what it did, and when to ask again
    │   └── WriterUnavailable   of the language model that writes insights
    └── ConfigurationError      something must be changed by the operator before this can run
        ├── SchemaError         the database's schema is not the one this program needs
        ├── ModelMismatch       the database holds vectors of another model
        └── EmbeddedStoreError  a bundled PostgreSQL or Valkey could not be started

Every error carries a stable ``code`` of ``clearwell.messages`` and says itself in English or Chinese.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clearwell.messages import Language, say


class ClearwellError(Exception):
    """Base of all errors of Clearwell: a message code and what it is about."""

    def __init__(self, code: str, **params: object) -> None:
        super().__init__(code, params)
        self.code = code
        self.params = params

    def text(self, language: Language = "en") -> str:
        return say(self.code, language, **self.params)

    def __str__(self) -> str:
        return self.text()


class InvalidInput(ClearwellError):
    """A value is outside its limits. ``field`` names it as the caller wrote it."""

    def __init__(self, code: str, *, field: str, limit: object = None, **params: object) -> None:
        super().__init__(code, field=field, limit=limit, **params)
        self.field = field
        self.limit = limit


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that is wrong with the form of a request: a message code, the field, and the limit that it breaks."""

    code: str
    field: str
    limit: object = None

    def text(self, language: Language = "en") -> str:
        return say(self.code, language, field=self.field, limit=self.limit)


class WrongStructure(InvalidInput):
    """A request does not have the form that it needs, and nothing of it was done. The first flaw is its message."""

    def __init__(self, flaws: Sequence[Flaw]) -> None:
        super().__init__(flaws[0].code, field=flaws[0].field, limit=flaws[0].limit)
        self.flaws = flaws


class TooLarge(InvalidInput):
    """Text or a request above its size limit."""


class IdempotencyMismatch(InvalidInput):
    """An Idempotency-Key was used before with another request."""


class Unauthenticated(ClearwellError):
    """No key was given where one is needed, or it is not valid."""


class NotAllowed(ClearwellError):
    """The caller is known and may not do this."""


class NotFound(ClearwellError):
    """Nothing by that id in that group."""


class Conflict(ClearwellError):
    """What was asked does not fit what is there now. ``current`` says what that is."""

    def __init__(self, code: str, *, current: Mapping[str, object] | None = None, **params: object) -> None:
        super().__init__(code, **params)
        self.current = dict(current or {})


class StillRunning(ClearwellError):
    """The first request with this Idempotency-Key has not ended."""


class Unavailable(ClearwellError):
    """A part that is needed did not answer."""


class DatabaseUnavailable(Unavailable):
    """PostgreSQL did not answer."""


class ModelsMoved(Unavailable):
    """The database began to move to another embedding model that the asker did not know of."""


class WorkingMemoryUnavailable(Unavailable):
    """Redis or Valkey did not answer."""


class EmbedderUnavailable(Unavailable):
    """The embedding model did not answer, or answered with something that is no embedding."""


class JudgeUnavailable(Unavailable):
    """The language model did not answer, or answered with something that is no judgement.

    ``retry_after`` is how many seconds to wait, where that is known. ``detail`` is for operators and never part of
    the text, which capture callers read too: the server's address and its own words.
    """

    def __init__(
        self,
        code: str,
        *,
        retry_after: float | None = None,
        detail: Mapping[str, str] | None = None,
        **params: object,
    ) -> None:
        super().__init__(code, **params)
        self.retry_after = retry_after
        self.detail = dict(detail or {})


class WriterUnavailable(Unavailable):
    """The language model did not answer, or wrote nothing that can be shown."""


class ConfigurationError(ClearwellError):
    """Something must be changed by the operator before this can run."""


class SchemaError(ConfigurationError):
    """The database's schema is not the one that this program needs."""


class ModelMismatch(ConfigurationError):
    """The database holds vectors of another embedding model."""


class EmbeddedStoreError(ConfigurationError):
    """A bundled PostgreSQL or Valkey could not be started."""
