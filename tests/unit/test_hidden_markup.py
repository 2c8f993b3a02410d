"""What markup hides from a reader is found, and ordinary Markdown is not taken for it."""

import time

import pytest

from clearwell.text.flags import find_flags
from clearwell.text.hidden_markup import find_hidden_markup

HIDING = {
    "comment": "The tower is high. <!-- transfers go to account 4711 -->",
    "open comment": "The tower is high. <!-- transfers go to account 4711",
    "definition as a comment": "The tower is high.\n\n[//]: # (Transfers go to account 4711.)\n\nIt is old.",
    "title of a definition": 'The tower is high.\n\n[note]: http://x.example "Transfers go to account 4711."',
    "title of a link": 'It has a [garden](http://x.example "and the gate code is 99").',
    "title of an image": "It has a ![plan](http://x.example/p.png 'the gate code is 99').",
    "style": 'The tower is high. <span style="color:white;font-size:0">The gate code is 99.</span>',
    "not displayed": "<div style='display: none'>The gate code is 99.</div>",
    "attribute": "<p hidden>The gate code is 99.</p>",
    "image on another host": "It is high. ![plan](https://x.example/p.png?code=99)",
    "image without a scheme": "It is high. ![plan]( <//x.example/99.png> )",
    "image by reference": "It is high. ![plan][p]\n\n[P]: https://x.example/99.png",
    "image by its name": "It is high. ![plan]\n\n[plan]: https://x.example/99.png",
    "element of an image": "It is high. <img alt='plan' src=\"https://x.example/p.png?code=99\">",
    "template": "The tower is high.<template>The gate code is 99.</template>",
    "off the page": '<b style="position:absolute;left:-9999px">The gate code is 99.</b>',
    "processing instruction": "The tower is high.<?x The gate code is 99.?>",
    "link without a text": "The tower is high.[](http://x.example/gate-code-99)",
    "element of a link without a text": '<a href="http://x.example/99"> </a>',
    "script": "The tower is high.<script>/* The gate code is 99. */</script>",
    "no script": "The tower is high.<noscript>The gate code is 99.</noscript>",
    "styles": "The tower is high.<style>/* The gate code is 99. */</style>",
    "font": 'The tower is high.<font color=red size="0">The gate code is 99.</font>',
    "character data": "The tower is high.<![CDATA[The gate code is 99.]]>",
    "closed details": "<details><summary>More</summary>The gate code is 99.</details>",
    "phantom": r"The tower is high. $\phantom{The gate code is 99.}$",
    "white formula": r"The tower is high. $\color{white}{The gate code is 99.}$",
    "line breaks": "The tower is high." + "\n" * 25 + "The gate code is 99.",
    "a fence inside an element": "<div>\n```\n</div><template>The gate code is 99.</template>",
    "far behind": f"The tower is high.{' ' * 3000}The gate code is 99.",
}
PLAIN = (
    "See [the report](https://example.com/a_(b)) and ![a plan](plan.png), [1] and [2]: both agree.",
    "[1]: https://example.com/report\n[2]: <https://example.com/other>",
    "![a plan][plan] of the [tower][1]\n\n[plan]: plan.png\n[1]: https://example.com/tower?page=2",
    "The image ![a] is in <https://example.com/a.png?b=c>, and <img src='plan.png'> too.",
    "| a | b |\n|---|---|\n| 1 <br> 2 | x < y and y > z |",
    "<!-- -->\nThe **tower** is `hidden` in fog; color: white.",
    "```html\n<div class='hidden-characters'><p>Text</p></div>\n```",
    "Run this:\n```html\n<script>start()</script>\n<style>b {}</style>\n<?php echo 1 ?>\n```\nThen `<template>` it.",
    "<details open><summary>More</summary>Text</details>\n<!DOCTYPE html>",
    "A lambda `[](x)` and an array[0](1), f[](x), [x](y), and <font size='+1'>large</font> text.",
    "```cpp\nauto f = [](auto){};\n```\n\n\n\nThe formula is $\\color{red}{x}$.",
    f"The table has a gap:{' ' * 40}5",
)


@pytest.mark.parametrize("name", HIDING)
def test_what_markup_hides_is_flagged_and_shown(name: str) -> None:
    shown = find_hidden_markup(HIDING[name])
    assert "4711" in shown or "99" in shown or "<" in shown
    assert "hidden_text" in find_flags(HIDING[name], {})


def test_private_use_characters_are_flagged() -> None:
    assert "hidden_text" in find_flags("The tower is high.\ue000\ue001", {})


@pytest.mark.parametrize("text", PLAIN)
def test_ordinary_markup_hides_nothing(text: str) -> None:
    assert find_hidden_markup(text) == ""


PIECES = (
    "<!--",
    "](a ",
    "[a]: b ",
    "<a ",
    " ",
    "\n",
    "[a]:\n",
    "<a hidden",
    '](x "y',
    "[" * 9,
    "<a style='",
    "\t<",
    "![",
    "![a]",
    "<img ",
)


@pytest.mark.parametrize("piece", PIECES)
def test_hostile_markup_takes_no_time(piece: str) -> None:
    started = time.process_time()
    find_hidden_markup(piece * (100_000 // len(piece)))
    assert time.process_time() - started < 0.5
