"""The text of a fact check, for the nodes that follow and for people.

Claims and memories stand in it as fenced data. A claim between its tags is quoted: neither the fact check nor an agent
that repeats it says it itself. So ``flow.ingress`` compares a fact check only with others of the same claims, and for
``flow.digest`` it is no voice for the claim.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Final, get_args
from uuid import UUID

from clearwell.flow.context.fencing import escape_markup, fence, format_label
from clearwell.messages import Language, say
from clearwell.records import Citation, ClaimCheck, ClaimRating, ContextItem, FactCheckMethod
from clearwell.text.sentences import cut_at_sentence

NODE_TYPE: Final = "fact_check"
HEADING: Final = "## 事实核查 / Fact check"
ENDS: Final = ".。!！?？;； "
MAX_CHARS: Final = 500
"""Characters of a memory that is cited without a sentence."""
_CLAIM: Final = re.compile(r"<claim>(.*?)</claim>", re.DOTALL)


def format_fact_check(
    claims: Sequence[ClaimCheck],
    items: Mapping[UUID, ContextItem],
    *,
    method: FactCheckMethod,
    model: str | None,
    language: Language,
) -> str:
    """Write a heading, and for each claim one line and its citations."""
    rated_by = say(f"fact_check_method_{method}", language, model=escape_markup(model or ""))
    lines = [HEADING]
    number = 0
    for claim in claims:
        lines.append(
            say(
                "fact_check_line",
                language,
                claim=fence_claim(claim.claim),
                rating=say(f"rating_{claim.rating}", language),
                reason=escape_markup(claim.say_reason(language)).rstrip(ENDS),
                method=rated_by,
            )
        )
        for citation in claim.citations:
            number += 1
            lines.append(_format_citation(number, citation, items[citation.memory_id], language))
    return "\n".join(lines)


def fence_claim(text: str) -> str:
    """Put a claim into its tags, without the mark that ends it: what follows belongs to the same sentence."""
    return f"<claim>{escape_markup(text).rstrip(ENDS)}</claim>"


@dataclass(frozen=True, slots=True)
class QuotedClaim:
    """A claim in the text of a fact check, its place there with its tags, and its rating where one follows."""

    start: int
    end: int
    text: str
    rating: ClaimRating | None


def find_quoted_claims(text: str) -> list[QuotedClaim]:
    """The claims that the text of a fact check quotes between tags."""
    return [
        QuotedClaim(*found.span(), unescape(found.group(1)).strip(), _read_rating(text, found.end()))
        for found in _CLAIM.finditer(text)
    ]


def _read_rating(text: str, end: int) -> ClaimRating | None:
    return next((rating for words, rating in _RATINGS.items() if text.startswith(words, end)), None)


def _list_ratings() -> dict[str, ClaimRating]:
    """The words that follow a claim in a report, up to its rating, in each language."""
    ratings = {}
    for language in get_args(Language):
        for rating in ClaimRating:
            word = say(f"rating_{rating}", language)
            line = say("fact_check_line", language, claim="\n", rating=word, method="\n", reason="")
            ratings[line.split("\n")[1]] = rating
    return ratings


_RATINGS: Final = _list_ratings()


def list_quoted_claims(text: str) -> list[str]:
    """The texts of the claims that a text quotes between tags."""
    return [claim.text for claim in find_quoted_claims(text)]


def is_report(node_type: str | None, content: str) -> bool:
    """Whether an output is the text of a fact check, which quotes claims and memories and says neither itself."""
    return node_type == NODE_TYPE and bool(find_quoted_claims(content))


def _format_citation(number: int, citation: Citation, item: ContextItem, language: Language) -> str:
    text = citation.sentence or cut_at_sentence(item.content, MAX_CHARS)
    label = f"{format_label(item, language)} · {say(f'stance_{citation.stance}', language)}"
    return f"{number}. [{label}] {fence(item.id, text)}"
