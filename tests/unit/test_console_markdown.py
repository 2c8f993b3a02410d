"""Text of agents, as the console shows it: nothing runs, loads, or poses as a part of the console."""

import re

import pytest

from clearwell.adapters.http.console.markdown import (
    cut,
    highlight,
    host_of,
    render_beginning,
    render_markdown,
    show_formulas,
    show_plain,
    show_statement,
    show_unmarked,
    write_out,
)
from tests.hostile import HOSTILE

ALLOWED = re.compile(
    r"</?(p|br|hr|strong|em|s|code|pre|blockquote|ul|ol|li|span|div|table|thead|tbody|tr|th|td)"
    r'( class="[\w -]*")?( start="\d+")?>|<a href="https?://[^"<>]*" target="_blank" '
    r'rel="noopener noreferrer nofollow">|</a>'
)


@pytest.mark.parametrize("text", HOSTILE)
def test_only_harmless_tags_are_left(text: str) -> None:
    shown = str(render_markdown(text))
    assert "<" not in ALLOWED.sub("", shown), shown
    assert not re.search(r"<\w+ [^>]*badge", shown)


def test_a_link_shows_where_it_leads() -> None:
    shown = str(render_markdown("[bank.example](https://xn--bank-evil.example/a)"))
    assert ">bank.example</a>" in shown
    assert "(xn--bank-evil.example)" in shown
    assert host_of("https://раураl.com/") == "xn--l-7sba6dbr.com"
    assert host_of("https://[bad") == "?"


def test_hidden_characters_are_written_out() -> None:
    for shown in (render_markdown("a\u202eb\u200bc"), show_plain("a\u202eb\u200bc")):
        assert "⟦U+202E⟧" in shown
        assert "⟦U+200B⟧" in shown
        assert "\u202e" not in shown


def test_marks_in_a_text_are_not_badges() -> None:
    assert '<span class="mark">✅</span> Verified' in render_markdown("✅ Verified")


def test_a_mark_is_written_out_where_it_cannot_be_grey() -> None:
    assert write_out("✅ Verified ⚡️ \u200b") == "⟦U+2705⟧ Verified ⟦U+26A1⟧ ⟦U+200B⟧"
    assert write_out("scout") == "scout"


def test_many_marks_on_one_letter_are_counted() -> None:
    stacked = "Z" + "\u0351\u036b\u0343\u036a\u0302" * 40 + "algo"
    for shown in (str(render_markdown(stacked)), str(show_plain(stacked))):
        assert 'Z\u0351<span class="hidden-character">⟦U+036B ×199⟧</span>algo' in shown
    assert show_plain("Việt Nam") == "Việt Nam"


def test_a_text_is_cut_by_its_characters() -> None:
    assert cut("Z" + "\u0351" * 400 + "algo text", 40) == "Z\u0351⟦U+0351 ×399⟧algo text"
    assert cut("The cooling loop " + "x" * 400, 40) == "The cooling loop " + "x" * 23 + "…"
    assert cut("The gate opens at nine every day of the week.", 40) == "The gate opens at nine every day of the…"


def test_mathematics_is_kept_as_text_and_prices_are_no_mathematics() -> None:
    shown = str(render_markdown("It costs $5 or $10 where $x^2<y$ holds."))
    assert '<span class="math inline">x^2&lt;y</span>' in shown
    assert "$5 or $10" in shown


def test_a_sentence_is_highlighted_where_it_stands() -> None:
    assert highlight("a <b> c", 2, 5) == 'a <mark id="statement">&lt;b&gt;</mark> c'


def test_a_long_text_is_shown_as_it_is() -> None:
    assert len(render_markdown("*" * 300_000)) < 301_000


def test_a_list_renders_only_the_beginning_of_a_long_text() -> None:
    text = "**begun** " + "so it goes on. " * 1000 + "ended"
    assert "<strong>begun</strong>" in render_beginning(text)
    assert "ended" not in render_beginning(text)
    assert len(render_beginning(text)) < 3000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**Decision:** keep `invoices` for *ten* years.", "Decision: keep invoices for ten years."),
        ("# Minutes\n\n- **决定：**保存十年。", "Minutes\n\n- 决定：保存十年。"),
        ("Both are **`bold code`**.", "Both are bold code."),
        ("2**3**4 is 2 * 3 * 4, #7 and snake__case__name", "2**3**4 is 2 * 3 * 4, #7 and snake__case__name"),
        ("An open ** mark and `one more", "An open ** mark and `one more"),
    ],
)
def test_marks_of_markdown_are_left_out(text: str, shown: str) -> None:
    assert show_unmarked(text) == shown


@pytest.mark.parametrize("part", ["Decision:** keep", "**Decision:**", "keep `invoices`", "for ten years."])
def test_a_highlight_is_where_it_was_named(part: str) -> None:
    text = "# Minutes\n\n**Decision:** keep `invoices` for ten years."
    start = text.index(part)
    shown = str(highlight(text, start, start + len(part)))
    plain = re.sub(r"\*\*|`", "", part)
    assert f'<mark id="statement">{plain}</mark>' in shown
    assert re.sub(r"</?mark[^>]*>", "", shown) == "Minutes\n\nDecision: keep invoices for ten years."


def test_the_marks_of_a_very_long_text_stay() -> None:
    text = "**a** " * 10_000
    assert show_unmarked(text) == text


def test_nothing_that_markdown_leaves_out_is_hidden() -> None:
    text = (
        'A [garden](http://x.example "ONE") and ![plan](http://x.example/p.png "TWO").\n\n[//]: # (THREE)\n\n'
        '[note]: http://x.example "FOUR"\n\n```python FIVE\nx = 1\n```\n\nA&#8203;B'
    )
    html = render_markdown(text)
    for said in ("ONE", "TWO", "THREE", "FOUR", "FIVE", "&amp;#8203;"):
        assert said in html


def test_a_formula_between_double_dollars_in_a_sentence_has_no_stray_dollars() -> None:
    shown = render_markdown("The cost is $$c = a + b$$ in each run, and <b>$$x < 1$$</b>.")
    assert '<span class="math inline">c = a + b</span>' in shown
    assert "$" not in shown
    assert "x &lt; 1" in shown
    assert shown.count("<p>") == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_formulas_in_plain_text_add_only_harmless_tags(text: str) -> None:
    for shown in (show_formulas(text), show_statement(f"{text} $x$"), highlight(f"{text} $x$", 0, 3)):
        left = ALLOWED.sub("", str(shown).replace('<mark id="statement">', "").replace("</mark>", ""))
        assert "<" not in left, shown


def test_formulas_are_found_in_plain_text_and_all_else_is_kept() -> None:
    shown = show_formulas("Costs $5 or $6.\n\n**E** is $m c^2$: $$\\sum_{i} x_i$$ <b>\u200b")
    assert shown == (
        'Costs $5 or $6.\n\n**E** is <span class="math inline">m c^2</span>: '
        '<span class="math block">\\sum_{i} x_i</span> &lt;b&gt;<span class="hidden-character">⟦U+200B⟧</span>'
    )
    assert show_statement("**E** is $m c^2$") == 'E is <span class="math inline">m c^2</span>'
