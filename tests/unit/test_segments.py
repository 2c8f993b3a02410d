"""Segments of an output: where they are, what stands above them, and which of them are statements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearwell.text.segments import (
    LONGEST_CHINESE_HEADLINE,
    LONGEST_HEADLINE,
    MAX_SEGMENTS,
    bare_text,
    segment,
    self_contained,
)

REPORT = """# Cold store audit

Thanks for the invitation. We found two faults:

- compressor 3 loses oil because its shaft seal is worn
- **Owner:** Petra Lindqvist looks after the glycol loop.

| Room | Target | Measured |
|---|---|---|
| Dairy | 4 °C | **7 °C** |

```python
print("not a statement")
```

FACTS TO LOOK UP
- the service history of the doors

Could somebody send the invoices? Please check the door seals. I will call the vendor tomorrow.
We decided to replace compressor 3 in week 12.
"""


def _kinds(content: str) -> list[tuple[str, str]]:
    return [(found.kind.value, content[found.start : found.end]) for found in segment(content)]


def _statements(content: str) -> list[str]:
    return [self_contained(content, found) for found in segment(content) if found.is_statement]


def test_a_report_is_cut_into_its_kinds() -> None:
    assert _kinds(REPORT) == [
        ("structure", "# Cold store audit"),
        ("chatter", "Thanks for the invitation."),
        ("structure", "We found two faults:"),
        ("claim", "compressor 3 loses oil because its shaft seal is worn"),
        ("claim", "**Owner:** Petra Lindqvist looks after the glycol loop."),
        ("structure", "| Room | Target | Measured |"),
        ("claim", "| Dairy | 4 °C | **7 °C** |"),
        ("code", '```python\nprint("not a statement")\n```'),
        ("structure", "FACTS TO LOOK UP"),
        ("intention", "the service history of the doors"),
        ("question", "Could somebody send the invoices?"),
        ("instruction", "Please check the door seals."),
        ("intention", "I will call the vendor tomorrow."),
        ("decision", "We decided to replace compressor 3 in week 12."),
    ]


def test_a_statement_carries_what_stands_above_it() -> None:
    leak, owner, row, decision = (found for found in segment(REPORT) if found.is_statement)
    assert (leak.headings, leak.lead_in) == (("Cold store audit",), "We found two faults:")
    assert row.lead_in == "| Room | Target | Measured |"
    assert self_contained(REPORT, leak).startswith("We found two faults: compressor 3")
    assert self_contained(REPORT, owner) == "Owner: Petra Lindqvist looks after the glycol loop."
    assert self_contained(REPORT, row) == "Dairy: Target 4 °C; Measured 7 °C"
    assert bare_text(REPORT, row) == "Dairy, 4 °C, 7 °C"
    assert self_contained(REPORT, decision) == "We decided to replace compressor 3 in week 12."


def test_a_chinese_report_is_cut_into_its_kinds() -> None:
    content = """各位好，谢谢邀请。

一、冷库
（一）三号压缩机漏油，原因是轴封磨损。
（二）请大家检查门封。

我们决定第12周更换三号压缩机。门封是谁负责的？我会在周五之前把报价整理好。"""
    assert [kind for kind, _ in _kinds(content)] == [
        "chatter",
        "structure",
        "claim",
        "instruction",
        "decision",
        "question",
        "intention",
    ]


@pytest.mark.parametrize(
    "content",
    [
        "Alice prefers tea.",
        "I moved to Berlin in May.",
        "Backups run at 02:00 UTC",
        "[9:14 am on 3 June, 2024] Ravi: My sister started at the bakery on Monday.",
        "I think the outage was caused by a full disk.",
        "I looked into the logs, and the gateway drops every tenth request.",
        "Release 4.2 needs PostgreSQL 16.",
        "Please restart the node; the cache is full.",
        "所以请别再写成就绪：温控验收还没有做。",
        "申请流程从五步改为三步。",
        "我同意消息总线选用 Kafka，自研中间件今年已经出过 4 次故障。",
        "感谢各位的意见，经核实，第三方接口的可用性是 99.9%。",
        "抱歉回复晚了，生产环境的证书将在 11 月 30 日到期。",
        "让我补充一点：该模块的测试覆盖率只有 41%。",
        "## 迁移计划\n- 回滚窗口为 15 分钟。",
        "Thanks, the mean latency of the checkout is 40 ms now.",
        "文化遗产补助的问题请联系部里的韩雪梅。",
        "救助站请兽医给志愿者做培训。",
        "我们已请第三方复测，误差在两毫米以内。",
        "Test results show that the cache halves the latency.",
        "Update: The deadline for the tax filing is 31 July.",
        "As discussed, drivers please note: the first boat leaves at 06:20.",
        "如前所述，备注：第一班船六点二十分开。",
        "Hey team, just wanted to let you know that the new kettle is on the second floor.",
        "Okay, so to summarise: the tender documents are complete.",
        "We will translate the console into Japanese first.",
        "Write access to the archive was revoked on Monday.",
        "Do not restart the scheduler while a rebalance is running.",
        "好的，那么总结一下：招标文件已经齐全。",
        "Please note that the lift is closed until 4 May.",
        "Keep the pool at twenty connections, otherwise PostgreSQL refuses new sessions.",
        "Replace the door seal; the log shows 11 °C twice.",
        "We will use pgvector for the index.",
        "I will marry Tom in June.",
        "- Energy of a round trip: 1,180 kWh",
        "- `open_gate()`: Open the gate of the lock.",
        "- Delivery of the pumps – two weeks late",
        "The shrimp in G. Fiedler's paper is 4 cm long.",
        "| Room | Level |\n|---|---|\n| 甲组 | 68% |",
        "请各位注意：三号门下周起关闭。",
        "我将要参加下个月的船舶展。",
        "我叔叔的邮箱是someone.with.a.long.name@harbour-office.example。",
        "请更换门封条，记录显示两次达到11℃。",
        "我昨天买了一台新打印机。",
        "我在深圳上班。",
        "我来自青岛，今年三十岁。",
        "[2024年05月02日 周四 09:10] 用户: 我的表姐在银行工作呢。",
        "我看了日志，发现网关每十个请求丢一个。",
        "我觉得宕机是磁盘写满造成的。",
    ],
)
def test_a_plain_sentence_is_a_claim(content: str) -> None:
    assert _statements(content)


@pytest.mark.parametrize(
    "content",
    [
        "Thanks, finance.",
        "I agree with your assessment.",
        "What is the capital of France?",
        "Please open the video and read the title.",
        "<INFO> Finished",
        "Python",
        "I will search for the paper next.",
        "If the lift is closed, use the stairs on the north side.",
        "Once the path is known, use WebSurfer to follow it.",
        "Your task is to find flaws in the plan of the migration.",
        "Thought: I need to check the quota of the region first.",
        "The exact ingredients will need to be determined from the recording.",
        "If this is not sufficient, further investigation may be necessary.",
        "An online service could be used to read the text in the image.",
        "To fix this, move the lock outside of the loop.",
        "Carefully read the manual of the pump.",
        "Please test it with a basket of two tickets; if the sum is right, I shall be quiet for a week.",
        "发言请继续遵守上次的约定。",
        "抗震问题请统一转给我。",
        "我打算先统一固件，再谈扩容。",
        "Dear Program Chairs,",
        "Once we have the values, we can proceed.",
        "- Controls: Press the red button to open the gate.",
        "# Facts to look up\n\n- The sale price of the house in 2022.",
        "下一步我会核对各部门的报表。",
        "我想先听一听财务的看法。",
        "I clicked 'Accept all'.\n\nThe following text is visible in the viewport:\n\nThe tower is 324 metres high.",
        "谢谢大家！",
        "请核对附件中的报价单。",
        "接下来我会整理会议纪要。",
        "```\nThe tower is 324 metres high.\n```",
    ],
)
def test_what_says_nothing_of_the_matter_is_no_statement(content: str) -> None:
    assert _statements(content) == []


def test_everything_behind_an_announced_tool_output_is_page_text() -> None:
    content = "The script ran, then exited with code 0\nIts output was:\n\nThe mean is 4.\n\n- The pump is broken."
    assert [kind for kind, _ in _kinds(content)] == ["page"]


def test_lines_of_a_page_are_one_segment() -> None:
    links = "\n".join(f"Shop\nhttps://shop.example › item{number}\nItem {number} in stock" for number in range(4))
    content = f"{links}\n\nThe shop has four items in stock."
    assert _kinds(content)[0] == ("page", links)


def test_a_headline_is_short_and_shows_where_it_was_cut() -> None:
    english = "The cooling loop of hall B " + "and the valve behind it " * 20 + "leaks."
    chinese = "二号车间的冷却回路" + "以及后面的阀门" * 20 + "在漏水。"
    for content, most in ((english, LONGEST_HEADLINE), (chinese, LONGEST_CHINESE_HEADLINE)):
        (headline,) = _statements(content)
        assert len(headline) <= most
        assert headline.endswith("…")


def test_quotation_marks_around_a_statement_are_removed() -> None:
    assert _statements("“The bridge closes on 4 May.”") == ["The bridge closes on 4 May."]


def test_what_stands_behind_the_most_segments_is_left_out() -> None:
    assert len(segment("The valve leaks. " * (MAX_SEGMENTS + 50))) == MAX_SEGMENTS


@pytest.mark.parametrize(
    "content",
    [
        "a" * (1 << 20),
        "." * (1 << 20),
        "*" * (1 << 20),
        "[" * (1 << 20),
        "[a](b " * 150_000,
        "> " * 50_000 + "x",
        "\n".join("  " * depth + "- x" for depth in range(500)),
        "a\n" * 500_000,
        "|a|b|\n|-|-|\n" + "|c|d|\n" * 50_000,
        "```md\n" * 5_000,
        "```\n'''x\n\n" + "The gate is open at night.\n\n" * 10_000,
        "_a" * 500_000,
    ],
    ids=[
        "word",
        "dots",
        "stars",
        "brackets",
        "links",
        "quotes",
        "lists",
        "lines",
        "table",
        "fences",
        "open fence",
        "underscores",
    ],
)
def test_large_hostile_markdown_is_cut_into_places_in_order(content: str) -> None:
    _assert_whole(content)


@given(st.text(alphabet=st.sampled_from("ab .。！?:：\n\r\0\t#>-*|`1)、“”<>[]（ )_~\\=\u3000\ud800é"), max_size=300))
def test_any_text_is_cut_into_places_in_order(content: str) -> None:
    _assert_whole(content)


@pytest.mark.parametrize(
    ("content", "statements"),
    [
        (
            "- 生产环境数据库变更的审批人从今年起统一改为\n  王磊，由他签字。",
            ["生产环境数据库变更的审批人从今年起统一改为王磊，由他签字。"],
        ),
        (
            "The finance export is missing the totals of\nOctober.",
            ["The finance export is missing the totals of October."],
        ),
        (
            "The outage began when the\nDNS server of the northern\nregion lost its licence.",
            ["The outage began when the DNS server of the northern region lost its licence."],
        ),
        (
            "Backups of the northern region run at two every night\nRestores were tested on Monday by Ana",
            ["Backups of the northern region run at two every night", "Restores were tested on Monday by Ana"],
        ),
        ("主机房有三台服务器\n备机房有两台服务器", ["主机房有三台服务器", "备机房有两台服务器"]),
    ],
)
def test_lines_that_were_wrapped_are_one_sentence(content: str, statements: list[str]) -> None:
    assert _statements(content) == statements


@pytest.mark.parametrize(
    ("content", "headlines"),
    [
        (
            "The pump at Lindau lost its oil. This stopped the whole line on Monday.",
            [
                "The pump at Lindau lost its oil.",
                "The pump at Lindau lost its oil. This stopped the whole line on Monday.",
            ],
        ),
        (
            "# The line\nThis stopped the whole line on Monday.",
            ["The line: This stopped the whole line on Monday."],
        ),
        (
            "- The pump at Lindau lost its oil.\n- This stopped the whole line on Monday.",
            ["The pump at Lindau lost its oil.", "This stopped the whole line on Monday."],
        ),
        (
            "- The pump lost its oil on Sunday. This stopped the whole line.",
            ["The pump lost its oil on Sunday.", "The pump lost its oil on Sunday. This stopped the whole line."],
        ),
        ("林达泵站漏油。这使整条线周一停产。", ["林达泵站漏油。", "林达泵站漏油。这使整条线周一停产。"]),
    ],
)
def test_a_statement_that_points_back_has_the_sentence_before_it(content: str, headlines: list[str]) -> None:
    assert _statements(content) == headlines


@pytest.mark.parametrize(
    ("content", "headline"),
    [
        ("- The pump at Lindau delivers 40 litres a minute,\n- its motor draws 3 kW;\n", "minute"),
        ("- 林达泵站每分钟出水四十升；\n- 电机功率三千瓦，\n", "四十升"),
    ],
)
def test_the_headline_of_an_item_ends_in_no_comma(content: str, headline: str) -> None:
    assert _statements(content)[0].endswith(headline)


def _assert_whole(content: str) -> None:
    segments = segment(content)
    assert segments == segment(content)
    end = 0
    for found in segments:
        assert end <= found.start < found.end <= len(content)
        assert content[found.start : found.end].strip()
        bare_text(content, found)
        assert len(self_contained(content, found)) <= LONGEST_HEADLINE
        end = found.end


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Please open the ledger of June. Total the fees of all branches.", ["instruction", "instruction"]),
        ("The ledger of June is open. Total fees of all branches rose by 4%.", ["claim", "claim"]),
        ("No ledger entries found in the archive.", ["page"]),
        ("No ledger entries were found in the archive.", ["claim"]),
        ("Please search for the essay 'Who pays? A survey. 2014' and list its authors.", ["instruction"]),
        ("This might help with the fees of June.", ["intention"]),
    ],
)
def test_orders_go_on_and_programs_leave_out_verbs(text: str, kinds: list[str]) -> None:
    assert [found.kind for found in segment(text)] == kinds


def _nest(indent: str, marker: str, depth: int) -> str:
    return "\n".join(f"{indent * level}{marker} Valve {level} leaks." for level in range(depth))


@pytest.mark.parametrize(
    "nested",
    [
        "> " * 30 + "Valve 1 leaks.",
        ">" * 5_000 + "Valve 1 leaks.",
        "- " * 40 + "Valve 1 leaks.",
        _nest("  ", "-", 60),
        _nest("\t", "1)", 60),
    ],
    ids=["quotations", "many quotations", "one line", "lists", "tabs"],
)
def test_no_nesting_is_too_deep_to_be_read(nested: str) -> None:
    content = f"{nested}\n\n# Pumps\n\nPump 4 is new."
    assert len(_statements(content)) == nested.count("leaks") + 1
    assert segment(content)[-1].headings == ("Pumps",)


CUT_CODE = """The gateway logs this:

```python
def open_gate():
    \"\"\"Open the gate.

    The gate opens within three seconds.
    \"\"\"
    return gate.open()

# The gate is closed at night.

gate = Gate(
"""


def test_code_that_was_cut_off_is_code() -> None:
    assert [kind for kind, _ in _kinds(CUT_CODE)] == ["structure", "code"]


@pytest.mark.parametrize(
    ("content", "statements"),
    [
        (
            "```\nGET /gate 200\n\nThe office in Lyon closes on 1 August 2026. The staff of twelve moves to Grenoble.",
            ["The office in Lyon closes on 1 August 2026.", "The staff of twelve moves to Grenoble."],
        ),
        (
            "```python\nx = 1\n\ny = 2\n\n## Result\n\nPump 4 delivers 40 litres a minute.\n\n- Its motor draws 3 kW.",
            ["Pump 4 delivers 40 litres a minute.", "Its motor draws 3 kW."],
        ),
        ("```\nGET /gate 200\r\n\r\n里昂办事处8月1日关闭。", ["里昂办事处8月1日关闭。"]),
        ("> ```\n> GET /gate 200\n>\n> The office in Lyon closes on Monday.", ["The office in Lyon closes on Monday."]),
        ("```\nx = 1\n\nThe value is 1.\n\nprint(x)\n\nThe sum is 4.", ["The value is 1.", "The sum is 4."]),
    ],
)
def test_prose_after_a_fence_that_is_never_closed_is_read(content: str, statements: list[str]) -> None:
    assert _statements(content) == statements
    assert _kinds(content)[0][0] == "code"


def test_a_block_of_white_space_is_no_segment() -> None:
    assert segment("\t\u3000") == ()


@pytest.mark.parametrize(
    ("content", "kinds"),
    [
        ("because the rota of the crew overlaps", ["fragment"]),
        ("The pool has 20 connections,\nand the retry limit is 1", ["claim"]),
        ("- the timeout is 30 s;\n- and the retry limit is 1", ["claim", "claim"]),
        ("下一步：小陈周五去仓库点货；", ["intention"]),
        ("TODO: the labels of hall B are missing", ["intention"]),
        ("# Next\n\n- [x] Ines: pumps ordered on Monday\n- [ ] Tom: bill paid", ["structure", "claim", "intention"]),
        ("The rota is new.\n\n- Owner: 李娜 (on call until Sunday)\n- Deputy: Tom Ortega", ["claim", "claim", "claim"]),
        ("Nginx的timeout改成了30s，retry policy是none。", ["claim"]),
        ("The sign says 小心 at the door of hall B.", ["claim"]),
        ("[x](y " * 60_000, ["fragment"]),
        ("My votes: the timetable, yes; the new boat, no.", ["chatter"]),
        ("第三，会议改到周四，这个安排我赞成。", ["chatter"]),
        ("第三，会议改到周四。", ["claim"]),
        ("Unpacking libpump (2.1) ...", ["page"]),
        ("Could not load the sheet of the survey!", ["page"]),
        ("Could not load the sheet because the disk is full.", ["claim"]),
        ("If the door is locked, answer no, otherwise give me the number of the room.", ["instruction"]),
        ("Keep the pool at twenty connections, otherwise PostgreSQL refuses new sessions.", ["claim"]),
        ("The columns should be carefully mapped to the fields of the form.", ["instruction"]),
        ("The revised plan aims to shorten the search for the ledger.", ["intention"]),
        ("These insights will lead us towards the archives of the port.", ["intention"]),
        ("This may involve calling the harbour office.", ["intention"]),
        ("This could lead to the ledger that we need.", ["intention"]),
        ("This could lead to lost updates if two crews write at once.", ["claim"]),
        ("Attempt to read the gauge with another camera.", ["instruction"]),
        ("Attempt three succeeded after the restart.", ["claim"]),
        ("We'll shrink the scans by dropping the margins.", ["intention"]),
        ("It sounds like you are looking for the ledger of June.", ["chatter"]),
    ],
)
def test_parts_of_sentences_tasks_and_talk_about_plans_have_their_kinds(content: str, kinds: list[str]) -> None:
    assert [found.kind for found in segment(content)] == kinds


def test_a_done_task_is_shown_without_its_box() -> None:
    assert _statements("# Next\n\n- [x] Ines: pumps ordered on Monday") == ["Ines: pumps ordered on Monday"]


def test_tool_output_is_announced_after_an_unclosed_fence_too() -> None:
    content = "```\nGET /gate\n\nThe following text is visible in the viewport:\n\nThe tower is 324 metres high."
    assert [kind for kind, _ in _kinds(content)] == ["code", "page"]


def test_invisible_characters_between_letters_hide_no_claim() -> None:
    assert [found.kind for found in segment("\u200b".join("The valve of pump 3 leaks."))] == ["claim"]


@pytest.mark.parametrize(
    "content",
    [
        'The leaflet is titled "Who owns the weir?"',
        "# How to use the pump\n\n- The pressure is shown beside the valve.",
        "# Installation\n\n- Install the filter: the pump needs no other part.",
        "# Features\n\n- **Night mode**: Keep the pumps silent after ten.",
        "The script has two functions:\n\n- `flush(tank, speed)`: Empty the tank at the given speed.",
        "The script has two functions:\n\n- `reset`: Reset the counters.",
        "# Files\n\n- `weir.py`: entry point",
        "# Parts\n\n- **Gate**: the largest part of the weir",
    ],
)
def test_a_description_in_a_list_is_a_claim(content: str) -> None:
    assert [found.kind for found in segment(content)][-1] == "claim"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("# Features\n\nComment to start with: Ensure that the gate closes before the alarm.", "instruction"),
        ("The gate is new. As the harbour master, I understand the importance of tides.", "chatter"),
        ("It seems that I am unable to open pictures.", "chatter"),
        ("I input 'tide tables of Lindau'.", "page"),
        ("The gate is 17 m wide.\n\nFINAL ANSWER: 17", "fragment"),
        ("FINAL ANSWER: the weir was closed", "decision"),
        ("In each tank, check the seal of the lid.", "instruction"),
        ("Error fetching the page: no route to host", "page"),
        ("The pump survey (see Maier B. (2008) and others) names no leak.", "claim"),
    ],
)
def test_advice_small_talk_and_bare_answers_are_no_claims(content: str, kind: str) -> None:
    assert [found.kind for found in segment(content)][-1] == kind


TASK = """We work on this user request:

The weir of Lindau has two gates. How tall is the larger one? These are the gates that I know:

North gate, south gate

The north gate was built in 1931.


These agents can help:

Reader: an assistant that reads files. It can also summarize them.
Diver: a tool for measurements under water.

Facts so far:

- The south gate is 4 m tall.
"""


def test_a_repeated_request_and_a_list_of_agents_are_no_statements() -> None:
    assert _statements(TASK) == ["The south gate is 4 m tall."]


@pytest.mark.parametrize(
    ("content", "statements"),
    [
        ("User request: none\n\nPump 4 is new.", ["Pump 4 is new."]),
        ("**User question:**\nHow old is pump 4? It looks worn.\n\nPump 4 is new.", ["Pump 4 is new."]),
        ("用户问题：\n四号泵旧了，什么时候换？\n\n四号泵是今年换的新泵。", ["四号泵是今年换的新泵。"]),
        (
            "User query:\n\nPump 4 rattles.\n\n## Answer\n\nThe bearing of pump 4 is worn.",
            ["The bearing of pump 4 is worn."],
        ),
        (
            "Reader: an assistant that reads files.\n\nPump 4 is new.",
            ["Reader: an assistant that reads files.", "Pump 4 is new."],
        ),
        (
            "阅读者：一个能读取文件的助手\n潜水员：一名负责水下测量的智能体\n\n四号泵是今年换的新泵。",
            ["四号泵是今年换的新泵。"],
        ),
    ],
)
def test_a_repeated_request_ends_where_the_answer_begins(content: str, statements: list[str]) -> None:
    assert _statements(content) == statements
