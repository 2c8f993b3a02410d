"""Shows text of agents, which is hostile until a person has read it.

Markdown is rendered with HTML off, and the result is sanitised again. Nothing is loaded: an image becomes its name and
host. A link shows the host that it leads to. Hidden characters are written out. Badges are made from the tier by the
templates; the marks ⚡ and ✅ inside of a text are shown in grey, as the text of somebody.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape
from mdit_py_plugins.dollarmath import dollarmath_plugin

from clearwell.text.hidden_text import escape_hidden

LONGEST = 200_000
"""Longer texts are shown as they are: rendering them would keep others waiting."""
BEGINNING = 2000
"""More characters than a list shows of a text."""
LONGEST_UNMARKED = 40_000
"""The marks of longer texts are shown, too: to find them would keep others waiting."""
TAGS = {
    "p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "span", "div",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
CLASSES = {
    "p": {"md-heading", "md-1", "md-2", "md-3", "md-4", "md-5", "md-6"},
    "span": {"math", "inline", "host", "image", "mark", "hidden-character"},
    "div": {"math", "block"},
}
OF_NOTE = re.compile(
    "<[^>]*>|(?P<mark>[\u26a1\u2705\u2714\u2611\u2713]\ufe0f?)|(?P<hidden>⟦U\\+[0-9A-F]{4,6}(?: ×[0-9]+)?⟧)"
)
"""Tags, which stay as they are, and in the text between them marks and hidden characters that were written out."""
MARK = re.compile("[\u26a1\u2705\u2714\u2611\u2713]\ufe0f?")
STACK = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{5,}"
)
"""More marks on one letter than any language writes. They cover the lines above and below."""
MARKUP = (
    re.compile(r"(?m)^[ \t]{0,3}(#{1,6}[ \t]+)()(?=\S)"),
    re.compile(r"(?<![A-Za-z0-9*])(\*\*)(?=[^\s*])[^\n]{0,400}?(?<=[^\s*])(\*\*)(?![A-Za-z0-9*])"),
    re.compile(r"(?<![\w*])(\*)(?=[^\s*])[^*\n]{0,400}(?<=[^\s*])(\*)(?![\w*])"),
    re.compile(r"(?<!\w)(__)(?=[^\s_])[^\n]{0,400}?(?<=[^\s_])(__)(?!\w)"),
    re.compile(r"(?<!`)(`)(?=[^\s`])[^`\n]{0,400}(?<=[^\s`])(`)(?!`)"),
)
"""Marks of headings, emphasis and code, before and after what they mark. One that is not closed in its line stays."""
FENCE = re.compile(r'<(/?)(?:claim|memory(?: id="[^"<>]{0,80}")?)>')
FORMULAS = {
    "math_inline": Markup('<span class="math inline">{}</span>'),
    "math_inline_double": Markup('<span class="math block">{}</span>'),
}
Tokens = Sequence[Token]


def render_markdown(text: str) -> Markup:
    """Render a text as HTML that cannot run, load or pose as anything."""
    if len(text) > LONGEST:
        return Markup('<p class="plain">{}</p>').format(show_plain(text))
    html = _renderer().render(_write_hidden(text))
    clean = nh3.clean(
        html,
        tags=TAGS,
        attributes={"a": {"href", "target"}, "ol": {"start"}},
        allowed_classes=CLASSES,
        url_schemes={"http", "https"},
        link_rel="noopener noreferrer nofollow",
        strip_comments=True,
    )
    return Markup(_mark(clean))  # noqa: S704 - sanitised above


def render_beginning(text: str) -> Markup:
    """Render as much of a text as a list shows, which cuts it off by its height."""
    return render_markdown(text[:BEGINNING])


def quote_fenced(text: str) -> str:
    """The text of a fact check with quotation marks in place of the tags that fence claims and memories for models."""
    return FENCE.sub(lambda found: "”" if found.group(1) else "“", text)


def show_plain(text: object) -> Markup:
    """A text as it is, with hidden characters written out and marks in grey."""
    return Markup(_mark(str(escape(_write_hidden(str(text))))))  # noqa: S704 - escaped


def write_out(text: object) -> str:
    """A text for a place without colours of its own, such as a title or a choice of a list: its marks, which would be
    shown as those of a badge are, are written out as hidden characters are."""
    return MARK.sub(lambda found: f"⟦U+{ord(found.group()[0]):04X}⟧", _write_hidden(str(text)))


def cut(text: object, most: int) -> str:
    """The beginning of a text, cut between words, or inside of a word that is long."""
    whole = _collapse(str(text))
    if len(whole) <= most:
        return whole
    words = whole[: most + 1].rpartition(" ")[0]
    return f"{(words if len(words) > most // 2 else whole[:most]).rstrip()}…"


def show_formulas(text: object) -> Markup:
    """A text as it is, with its formulas for the script that draws them. What is a formula is as in Markdown."""
    whole = str(text)
    if "$" not in whole or len(whole) > LONGEST:
        return show_plain(whole)
    (line,) = _formula_finder().parseInline(_write_hidden(whole))
    return Markup("").join(
        FORMULAS.get(part.type, Markup("{}")).format(show_plain(part.content)) for part in line.children or ()
    )


def show_unmarked(text: object) -> Markup:
    """A text as it is, without the marks of headings, emphasis and code."""
    return show_plain(_drop_marks(str(text)))


def show_statement(text: object) -> Markup:
    """A text without the marks of headings, emphasis and code, with its formulas."""
    return show_formulas(_drop_marks(str(text)))


def highlight(text: str, start: int, end: int) -> Markup:
    """A text without marks, with one part of it highlighted. The part is named by its place in the text with marks."""
    marks = _find_marks(text)
    before, part, after = (
        show_formulas(_drop_marks(text, marks, *place)) for place in ((0, start), (start, end), (end, len(text)))
    )
    return Markup('{}<mark id="statement">{}</mark>{}').format(before, part, after)


def _find_marks(text: str) -> list[tuple[int, int]]:
    """Where the marks of a text are, in their order."""
    if len(text) > LONGEST_UNMARKED:
        return []
    return sorted(found.span(group) for mark in MARKUP for found in mark.finditer(text) for group in (1, 2))


def _drop_marks(
    text: str, marks: Sequence[tuple[int, int]] | None = None, start: int = 0, end: int | None = None
) -> str:
    """A part of a text without its marks."""
    end = len(text) if end is None else end
    kept, place = [], start
    for begins, ends in _find_marks(text) if marks is None else marks:
        if place < ends and begins < end:
            kept.append(text[place : max(begins, place)])
            place = min(ends, end)
    return "".join([*kept, text[place:end]])


def _write_hidden(text: str) -> str:
    """A text with its hidden characters written out, and with the first of many marks on one letter."""
    return _collapse(escape_hidden(text))


def _collapse(text: str) -> str:
    return text if text.isascii() else STACK.sub(_write_stack, text)


def _write_stack(found: re.Match[str]) -> str:
    marks = found.group()
    return f"{marks[0]}⟦U+{ord(marks[1]):04X} ×{len(marks) - 1}⟧"


def _mark(html: str) -> str:
    return OF_NOTE.sub(_wrap, html)


def _wrap(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "mark":
            return f'<span class="mark">{found.group()}</span>'
        case "hidden":
            return f'<span class="hidden-character">{found.group()}</span>'
        case _:
            return found.group()


@cache
def _formula_finder() -> MarkdownIt:
    """Knows formulas and nothing else, so that every other character of a text is kept."""
    return MarkdownIt("zero").use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True)


@cache
def _renderer() -> MarkdownIt:
    renderer = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True, "maxNesting": 20})
    renderer.enable(["table", "strikethrough"])
    # A definition would disappear with all that it says, and an entity could become a hidden character.
    renderer.disable(["reference", "entity"])
    renderer.use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True)
    renderer.add_render_rule("math_inline_double", _show_formula)
    renderer.add_render_rule("heading_open", _open_heading)
    renderer.add_render_rule("heading_close", _close_heading)
    renderer.add_render_rule("link_open", _open_link)
    renderer.add_render_rule("link_close", _close_link)
    renderer.add_render_rule("image", _show_image)
    renderer.add_render_rule("fence", _show_fence)
    return renderer


def _show_formula(self: Any, tokens: Tokens, index: int, options: OptionsDict, env: EnvType) -> str:
    """A formula between double dollar signs inside of a paragraph, which stays one paragraph."""
    return f'<span class="math inline">{escape(tokens[index].content)}</span>'


def _open_heading(self: Any, tokens: Tokens, index: int, options: OptionsDict, env: EnvType) -> str:
    """A heading of an agent is no heading of the page."""
    return f'<p class="md-heading md-{tokens[index].tag[1:]}">'


def _close_heading(self: Any, tokens: Tokens, index: int, options: OptionsDict, env: EnvType) -> str:
    return "</p>\n"


def _open_link(self: Any, tokens: Tokens, index: int, options: OptionsDict, env: EnvType) -> str:
    target = str(tokens[index].attrs.get("href", ""))
    env.setdefault("links", []).append((target, str(tokens[index].attrs.get("title", ""))))
    return f'<a href="{escape(target)}" target="_blank">'


def _close_link(self: Any, tokens: Tokens, index: int, options: OptionsDict, env: EnvType) -> str:
    target, title = env["links"].pop()
    return f'</a> <span class="host">({escape(host_of(target))}{escape(f": {title}" if title else "")})</span>'


def _show_image(self: Any, tokens: Tokens, index: int, options: OptionsDict, env: EnvType) -> str:
    token = tokens[index]
    host, title = host_of(str(token.attrs.get("src", ""))), str(token.attrs.get("title", ""))
    return f'<span class="image">{escape(token.content)} ({escape(host)}{escape(f": {title}" if title else "")})</span>'


def _show_fence(self: Any, tokens: Tokens, index: int, options: OptionsDict, env: EnvType) -> str:
    """Code, with all that stands behind the fence that opens it but the name of a language."""
    language, _, rest = tokens[index].info.strip().partition(" ")
    said = f"{language} {rest}\n" if rest else ""
    return f"<pre><code>{escape(said + tokens[index].content)}</code></pre>\n"


def host_of(address: str) -> str:
    """The host that a link leads to, in the form in which no letter can pass for another."""
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return "?"
    try:
        return host.encode("idna").decode() or "?"
    except UnicodeError:
        return host.encode("ascii", "backslashreplace").decode()
