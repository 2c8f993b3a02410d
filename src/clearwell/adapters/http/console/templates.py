"""Renders templates: escaping is always on, a missing value is an error, and every sentence is a message code."""

import json
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from clearwell.adapters.http.console import markdown
from clearwell.adapters.http.console.assets import asset_url
from clearwell.adapters.http.console.icons import icon
from clearwell.adapters.http.console.navigation import PAGES, page_url
from clearwell.messages import Language, catalogue, join_sentences, say
from clearwell.records import Principal
from clearwell.text.hidden_text import escape_hidden
from clearwell.text.short_ids import shorten_id
from clearwell.version import __version__

FOLDER = Path(__file__).parent / "templates"
Theme = Literal["auto", "light", "dark"]
LANGUAGE_TAGS: dict[Language, str] = {"en": "en", "zh": "zh-CN"}


@dataclass(frozen=True, slots=True)
class Notice:
    """What the change did that led to a page: the code of the sentence that says it.

    ``removed`` entries of working memory said a superseded text. ``has_left``: there may still be such entries, because
    working memory did not respond.
    """

    code: str
    removed: int = 0
    has_left: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContext:
    """What every template knows: the reader's language and theme, who is signed in, and which group is shown."""

    language: Language
    theme: Theme
    path: str
    group: str | None
    caller: Principal
    is_local: bool
    in_local_mode: bool
    may_review: bool
    form_token: str
    origin: str
    notice: Notice | None = None

    @property
    def language_tag(self) -> str:
        return LANGUAGE_TAGS[self.language]


def render(template: str, context: PageContext, *, status: int = 200, **values: Any) -> Response:
    """Render a template as an answer."""
    text = (
        environment()
        .get_template(template)
        .render(page=context, say=partial(_say, context.language), when=format_when, **values)
    )
    return HTMLResponse(text, status, headers={"Content-Language": context.language})


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals.update(
        asset=asset_url,
        icon=icon,
        pages=PAGES,
        page_url=page_url,
        version=__version__,
        known=lambda code: code in catalogue(),
        join_sentences=join_sentences,
    )
    made.filters.update(
        markdown=markdown.render_markdown,
        beginning=markdown.render_beginning,
        highlight=markdown.highlight,
        visible=markdown.show_plain,
        written=markdown.write_out,
        cut=markdown.cut,
        unmarked=markdown.show_unmarked,
        quoted=markdown.quote_fenced,
        formulas=markdown.show_formulas,
        statement=markdown.show_statement,
        code=show_code,
        tojson_plain=lambda value: json.dumps(value, ensure_ascii=False).replace("'", "\\u0027"),
        url=lambda text: quote(str(text), safe=""),
        short=shorten_id,
    )
    return made


def format_when(moment: datetime | None) -> Markup:
    """A time as UTC, which the script of the page shows in the reader's time zone."""
    if moment is None:
        return Markup("–")
    return Markup('<time datetime="{}">{} UTC</time>').format(moment.isoformat(), f"{moment:%Y-%m-%d %H:%M}")


def show_code(sentence: str) -> Markup:
    """A sentence of ours, with what stands between backticks as code."""
    parts = str(sentence).split("`")
    if len(parts) % 2 == 0:
        return markdown.show_plain(sentence)
    shown = (Markup("<code>{}</code>") if number % 2 else Markup("{}") for number in range(len(parts)))
    return Markup("").join(form.format(markdown.show_plain(part)) for form, part in zip(shown, parts, strict=True))


def _say(language: Language, code: str, /, **params: object) -> str:
    """A sentence in the reader's language. Names and ids in it are shown with hidden characters escaped."""
    shown = {name: escape_hidden(value) if isinstance(value, str) else value for name, value in params.items()}
    return say(code, language, **shown)
