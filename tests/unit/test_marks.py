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


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("**bold** and *italic* and ***both***", "bold and italic and both"),
        ("__bold__ words and _italic_ words", "__bold__ words and italic words"),
        ("__Two words__ and ~~gone~~", "Two words and"),
        ("The limit[^1] is ~~20~~ **40** requests.", "The limit is 40 requests."),
        ("**a *b* c**", "a b c"),
        ("**Note:** it works", "Note: it works"),
        ("**Note:**it works", "Note:it works"),
        ("**API**s and (*why*)", "APIs and (why)"),
        ("“*quoted*”, *said.*", "“quoted”, said."),
        ("**`clearwell sweep`** runs", "clearwell sweep runs"),
        ("``a `b` c``", "a `b` c"),
        ("**Energy $E_1$ is low**", "Energy $E_1$ is low"),
        ("[**the report**](https://example.com/a)", "the report"),
        ("## A *title* ##", "A title"),
        ("这是**重点**内容", "这是重点内容"),
        ("**决定：**账单保留三年", "决定：账单保留三年"),
        ("**决定：** 账单保留三年", "决定：账单保留三年"),
        ("**决定**：账单保留三年", "决定：账单保留三年"),
        ("他说**“可以”**。", "他说“可以”。"),
        ("约**3**天", "约3天"),
        ("**Decision: the invoices are kept.", "Decision: the invoices are kept."),
        ("日志保留一年。**", "日志保留一年。"),
    ],
)
def test_paired_emphasis_and_code_lose_their_marks(text: str, plain: str) -> None:
    assert remove_marks(text) == plain


@pytest.mark.parametrize(
    "text",
    [
        "There are 2*3*4 disks.",
        "{{ 7*7 }} and {{7*7*7}}",
        "2**3**4 is large",
        "SELECT * FROM a",
        "SELECT *, b FROM c WHERE d = *",
        "Delete *.log and *.tmp",
        "*.log, *.tmp*",
        "src/*/tests/*/unit and **/*.py",
        "def f(*args, **kwargs)",
        "char *a, *b",
        "5 * 3 * 2 and a*b*c",
        "**options are passed on",
        "__init__ and __name__ of a module",
        "snake_case_name and CLEARWELL_API_KEY_FILE",
        "_private of the class",
        "The price* applies.",
        "Sign ____ here, ****",
        "~5 ms and ~10 ms",
        "a ` alone",
        "共 2*3*4 块磁盘",
        "温度为 3* 与 4*",
    ],
)
def test_a_mark_that_is_no_emphasis_is_kept(text: str) -> None:
    assert remove_marks(text) == text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Run `SELECT *` and `ls *.log`.", "Run SELECT * and ls *.log."),
        ("In `__init__` of `a_b_c`", "In __init__ of a_b_c"),
        ("`a*b` *is* `c*d`", "a*b is c*d"),
        (r"`C:\` and \*this\*", r"C:\ and *this*"),
    ],
)
def test_code_is_quoted_as_it_is(text: str, plain: str) -> None:
    assert remove_marks(text) == plain


def test_a_long_line_of_marks_takes_no_longer_than_its_length() -> None:
    for text in ("*a " * 50_000, "`a``" * 50_000, "**a _b " * 50_000, "a* **b*" * 50_000):
        assert remove_marks(text)
