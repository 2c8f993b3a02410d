"""The claims of a fact check: given as such, or the statements of a text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from clearwell.errors import InvalidInput
from clearwell.flow import limits
from clearwell.flow.context.retrieval_node import QUERY_FIELDS, extract_query
from clearwell.text.segments import bare_text, segment
from clearwell.text.sentences import cut_at_sentence

CLAIM: Final = "claim"
MAX_CLAIMS: Final = 10
MAX_CHARS: Final = 20_000
"""Characters of a text whose statements are read."""
MAX_CLAIM_CHARS: Final = 1_000


@dataclass(frozen=True, slots=True)
class SelectedClaims:
    """The claims to check, and how many more the texts have."""

    texts: tuple[str, ...]
    left_out: int = 0


def select_claims(claim: str | Sequence[str]) -> SelectedClaims:
    """The statements of each text, or the whole text if it has none. Raises InvalidInput."""
    given = [claim] if isinstance(claim, str) else list(claim)
    if not given:
        raise InvalidInput("text_blank", field=CLAIM)
    for text in given:
        limits.require_text(text, CLAIM, max_bytes=4 * MAX_CHARS)
    found = list(dict.fromkeys(statement for text in given for statement in _read_statements(text[:MAX_CHARS])))
    return SelectedClaims(tuple(found[:MAX_CLAIMS]), max(0, len(found) - MAX_CLAIMS))


def read_claims(state: Mapping[str, object]) -> tuple[str, str | list[str]]:
    """Return the field and the text or texts to check: ``claim``, else a field of the memory-retrieval node.

    Raises InvalidInput if there is none.
    """
    value = state.get(CLAIM)
    if isinstance(value, str) and value.strip():
        return CLAIM, value
    if isinstance(value, list | tuple):
        texts = [text for text in value if isinstance(text, str) and text.strip()]
        if texts:
            return CLAIM, texts
    field, text = extract_query(state, required=False)
    if field is None:
        raise InvalidInput("node_no_claim", field=CLAIM, limit=" / ".join((CLAIM, *QUERY_FIELDS)))
    return field, text


def _read_statements(text: str) -> list[str]:
    statements = [bare_text(text, one) for one in segment(text) if one.is_statement]
    whole = " ".join(text.split())
    return [cut_at_sentence(one, MAX_CLAIM_CHARS) for one in statements or [whole]]
