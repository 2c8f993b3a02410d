"""Markdown marks are removed, and nothing else."""

import pytest

from clearwell.text.marks import remove_marks


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("**Energy**: `1,180 kWh` \\(measured\\)", "Energy: 1,180 kWh (measured)"),
        ("$P(t)\\,dt = 42\\,\\mathrm{kWh}$ for *each* trip.", "$P(t)\\,dt = 42\\,\\mathrm{kWh}$ for each trip."),
        ("It is $$x_1 * x_2^3$$, **no** more.", "It is $$x_1 * x_2^3$$, no more."),
        ("It costs $5 *net* and $6 gross.", "It costs $5 net and $6 gross."),
        ("See [the report](https://example.com/a).", "See the report."),
        (
            "Log in at [https://intranet.example.com](https://other.example.net/x).",
            "Log in at [https://intranet.example.com](https://other.example.net/x).",
        ),
        ("Log in at [intranet.example.com](https://other.example.net).", "Log in at [intranet.example.com](https://other.example.net)."),
        ("Mail [ann@example.com](mailto:eve@example.net).", "Mail [ann@example.com](mailto:eve@example.net)."),
    ],
)  # fmt: skip
def test_a_line_loses_its_marks_but_no_formula_and_no_hidden_target(text: str, plain: str) -> None:
    assert remove_marks(text) == plain
