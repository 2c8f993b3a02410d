"""The errors of Clearwell, in one tree.

::

    ClearwellError
    ├── InvalidInput            a value is outside its limits: field, limit
    │   ├── WrongStructure      a request does not have the required structure: its flaws
    │   ├── TooLarge            text or body above its size limit
    │   └── IdempotencyMismatch an Idempotency-Key that was used with another request
    ├── Unauthenticated         no key, or an invalid one
    ├── NotAllowed              the caller may not do this
    ├── NotFound                there is nothing with this id in this group
    ├── Conflict                the request does not fit the current state
    ├── RequestInProgress       the first request with this Idempotency-Key is still running
    ├── Unavailable             a required component did not respond
    │   ├── DatabaseUnavailable
    │   ├── ReembeddingStarted  the database has started to change to another embedding model
    │   ├── WorkingMemoryUnavailable
    │   ├── TooManyReaders      the process already serves as many readers of events as it may
    │   ├── TooManyRequests     a key has sent more requests than it may: when to retry
    │   ├── EmbedderUnavailable
    │   ├── JudgeUnavailable    the judge did not answer: why, and when to retry
    │   └── WriterUnavailable   the language model that writes insights did not answer
    ├── UnexpectedError         an error of another library, recorded by its name alone
    └── ConfigurationError      the operator must change something first
        ├── SchemaError         the database has another schema than this program needs
        ├── ModelMismatch       the database has vectors of another embedding model
        └── EmbeddedStoreError  a bundled PostgreSQL or Valkey could not be started, backed up or restored

Every error has a stable ``code`` of ``clearwell.messages`` and a text in English and Chinese.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clearwell.messages import Language, say


class ClearwellError(Exception):
    """Base of all errors: a message code and its parameters."""

    recorded = False
    """Whether the audit has this refusal."""

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
    """One problem with the structure of a request: a message code, the field, and the limit that it exceeds."""

    code: str
    field: str
    limit: object = None

    def text(self, language: Language = "en") -> str:
        return say(self.code, language, field=self.field, limit=self.limit)


class WrongStructure(InvalidInput):
    """A request does not have the required structure. Nothing of it was carried out. The first flaw is the message."""

    def __init__(self, flaws: Sequence[Flaw]) -> None:
        super().__init__(flaws[0].code, field=flaws[0].field, limit=flaws[0].limit)
        self.flaws = flaws


class TooLarge(InvalidInput):
    """A text or a request body exceeds its size limit."""


class IdempotencyMismatch(InvalidInput):
    """An Idempotency-Key was already used with another request."""


class Unauthenticated(ClearwellError):
    """A key is required and is missing or invalid."""


class NotAllowed(ClearwellError):
    """The caller is known but may not do this."""


class NotFound(ClearwellError):
    """There is nothing with this id in this group."""


class Conflict(ClearwellError):
    """The request does not fit the current state, which ``current`` describes."""

    def __init__(self, code: str, *, current: Mapping[str, object] | None = None, **params: object) -> None:
        super().__init__(code, **params)
        self.current = dict(current or {})


class RequestInProgress(ClearwellError):
    """The first request with this Idempotency-Key is still running."""


class Unavailable(ClearwellError):
    """A required component did not respond."""


class DatabaseUnavailable(Unavailable):
    """PostgreSQL did not respond."""


class ReembeddingStarted(Unavailable):
    """The database has started to change to an embedding model that the caller did not know."""


class WorkingMemoryUnavailable(Unavailable):
    """Redis or Valkey did not respond."""


class TooManyReaders(Unavailable):
    """The process already serves as many readers of events as the settings allow."""


class TooManyRequests(Unavailable):
    """A key has sent more requests than the settings allow. ``retry_after`` is the number of seconds to wait."""

    def __init__(self, code: str, *, retry_after: int, **params: object) -> None:
        super().__init__(code, retry_after=retry_after, **params)
        self.retry_after = retry_after


class EmbedderUnavailable(Unavailable):
    """The embedding model did not respond, or its answer is not an embedding."""


class JudgeUnavailable(Unavailable):
    """The judge did not respond, or its answer is not a judgement.

    ``retry_after`` is the number of seconds to wait, if known. ``detail`` (the address and the message of the
    server) is for operators. It is never part of the text, because callers who capture can read the text.
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
    """The language model did not respond, or wrote nothing that can be shown."""


class UnexpectedError(ClearwellError):
    """An error of another library. Only its name is recorded, because its text may quote memory content."""


class ConfigurationError(ClearwellError):
    """The operator must change something before this can run."""


class SchemaError(ConfigurationError):
    """The database has another schema than this program needs."""


class ModelMismatch(ConfigurationError):
    """The database has vectors of another embedding model."""


class EmbeddedStoreError(ConfigurationError):
    """A bundled PostgreSQL or Valkey could not be started, backed up or restored."""
