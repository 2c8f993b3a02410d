"""What people type to find one exact thing is found, by the real search, among texts that look like it."""

from dataclasses import replace

from clearwell.flow.retrieval.bm25 import analyse_query
from clearwell.ports import SearchQuery, Stores
from tests.contract.ports import promote, promotion, unit

TEXTS = {
    "release": "Upgrade the gateway to v1.2.3 on Friday.",
    "other release": "Upgrade the gateway to v1.3.2 on Monday.",
    "candidate": "The tag v2.4.0-rc.1 is out for testing.",
    "python": "All workers run Python 3.11.7 by now.",
    "ticket": "Ticket OPS-48213 was closed without a fix.",
    "other ticket": "Ticket OPS-48231 was closed as a duplicate.",
    "issue": "The flaky test is tracked in issue #5521.",
    "error": "The installer ends with error 0x80070005 on old machines.",
    "oracle": "The migration stops with ORA-00942 in staging.",
    "status": "上传大文件时网关返回HTTP 503错误。",
    "constant": "Browsers show ERR_CONNECTION_REFUSED after the restart.",
    "snake": "Set max_batch_size before calling the loader.",
    "camel": "The crash is in getUserProfile when the cache is cold.",
    "namespace": "Use foo.bar.baz to read the value.",
    "flag": "Nobody may push with --no-verify any more.",
    "variable": "The folder is named by CLEARWELL_EVAL.",
    "path": "The settings are in /etc/clearwell/settings.toml on each host.",
    "chinese path": "请修改src/app.py文件后重启。",
    "windows": "Logs are in C:\\Users\\ann\\logs.txt there.",
    "link": "The page https://status.example.com/history lists outages.",
    "mail": "负责人邮箱是li_ming1108@westlakesales.com。",
    "grouped": "The table has 1,234,567 rows.",
    "underscored": "The limit is 2_500_000 events.",
    "money": "The licence costs $1,200.50 a year.",
    "share": "Revenue grew by 12.5% in spring.",
    "full width": "项目编号为８８４２１。",
    "unit": "Median latency is 50 ms in Frankfurt.",
    "day": "The outage happened on 14 March 2026 at noon.",
    "iso day": "Backups failed on 2026-04-02 in the night.",
    "chinese day": "2026年5月8日完成了数据库迁移。",
    "month": "In July 2027 the contract ends.",
    "clock": "每日例会改到19:30开始。",
    "quarter": "The budget for Q3 2028 is frozen.",
    "address": "The replica listens on 192.168.7.10:5432 only.",
    "uuid": "The order 550e8400-e29b-41d4-a716-446655440000 is stuck.",
    "commit": "The fix is commit a1b2c3d4e5f60718 on main.",
    "language": "The kernel module was written in C++ first.",
    "sharp": "The desktop client is a C# program.",
    "slash": "The A/B test of the banner ended.",
    "hyphen": "Please send an e-mail to the customer.",
    "accent": "A naïve approach was too slow.",
    "mixed": "我们把Kafka集群迁移到了新机房。",
    "phone": "他昨天买了iPhone 15手机。",
    "name": "客户代表是欧阳若兮，她负责续约。",
    "encoding": "Every export is encoded as UTF-8.",
}
TYPED = [
    *[("release", one) for one in ("v1.2.3", "1.2.3", "Ｖ１.２.３", "v1.2.3版本")],
    *[("candidate", one) for one in ("v2.4.0-rc.1", "2.4.0-rc.1", "2.4.0")],
    *[("python", one) for one in ("3.11.7", "Python 3.11", "3.11")],
    *[("ticket", one) for one in ("OPS-48213", "ops-48213", "48213", "OPS48213", "关于OPS-48213的处理")],
    *[("issue", one) for one in ("#5521", "5521")],
    *[("error", one) for one in ("0x80070005", "0X80070005")],
    *[("oracle", one) for one in ("ORA-00942", "ora-00942")],
    *[("status", one) for one in ("503", "HTTP 503", "503错误")],
    *[("constant", one) for one in ("ERR_CONNECTION_REFUSED", "connection refused")],
    *[("snake", one) for one in ("max_batch_size", "batch size", "maxBatchSize")],
    *[("camel", one) for one in ("getUserProfile", "getuserprofile", "get_user_profile", "user profile")],
    *[("namespace", one) for one in ("foo.bar.baz", "bar.baz", "foo.bar")],
    *[("flag", one) for one in ("--no-verify", "no-verify")],
    *[("variable", one) for one in ("CLEARWELL_EVAL", "$CLEARWELL_EVAL")],
    *[("path", one) for one in ("/etc/clearwell/settings.toml", "settings.toml", "/etc/clearwell")],
    *[("chinese path", one) for one in ("src/app.py", "app.py")],
    *[("windows", one) for one in ("C:\\Users\\ann\\logs.txt", "logs.txt")],
    *[("link", one) for one in ("https://status.example.com/history", "status.example.com")],
    *[("mail", one) for one in ("li_ming1108@westlakesales.com", "westlakesales.com", "li_ming1108")],
    *[("grouped", one) for one in ("1,234,567", "1234567")],
    *[("underscored", one) for one in ("2500000", "2,500,000", "2_500_000")],
    *[("money", one) for one in ("$1,200.50", "1200.50", "$1,200")],
    *[("share", one) for one in ("12.5%", "12.5")],
    *[("full width", one) for one in ("88421", "８８４２１")],
    *[("unit", one) for one in ("50 ms", "50ms")],
    *[("day", one) for one in ("14 March 2026", "March 14", "2026-03-14", "2026/3/14", "2026年3月14日", "3月14号")],
    *[("iso day", one) for one in ("2026-04-02", "April 2nd", "2 Apr 2026")],
    *[("chinese day", one) for one in ("2026年5月8日", "May 8", "2026-05-08", "５月８日")],
    *[("month", one) for one in ("2027-07", "July 2027", "2027年7月")],
    *[("clock", one) for one in ("19:30", "19：30")],
    *[("quarter", one) for one in ("Q3 2028", "q3")],
    *[("address", one) for one in ("192.168.7.10", "192.168.7.10:5432", "5432")],
    *[("uuid", one) for one in ("550e8400-e29b-41d4-a716-446655440000", "550E8400")],
    *[("commit", one) for one in ("a1b2c3d4e5f60718", "a1b2c3d")],
    *[("language", one) for one in ("C++", "c++")],
    *[("sharp", one) for one in ("C#", "c#")],
    ("slash", "A/B test"),
    *[("hyphen", one) for one in ("e-mail", "email", "E-Mail")],
    *[("accent", one) for one in ("naive", "naïve")],
    *[("mixed", one) for one in ("Kafka集群", "kafka 集群", "ＫＡＦＫＡ", "新机房")],
    *[("phone", one) for one in ("iPhone15", "iphone 15手机")],
    *[("name", one) for one in ("欧阳若兮", "若兮")],
    *[("encoding", one) for one in ("UTF-8", "utf8")],
]


async def test_what_is_typed_exactly_is_found_first(stores: Stores) -> None:
    names = list(TEXTS)
    rows = []
    for number, text in enumerate(TEXTS.values()):
        decided, chunks = promotion(number + 1, vectors=[unit(0)])
        rows.append((decided, [replace(chunk, content=text, session_id=None, author=None) for chunk in chunks]))
    await promote(stores, "g", rows)
    missed = []
    for name, typed in TYPED:
        wanted = SearchQuery(group_id="g", embedding=unit(0), model="m", limit=2, terms=analyse_query(typed))
        best, second = await stores.longterm.search(wanted)
        if names[best.memory.id.int - 1001] != name or best.words <= second.words:
            missed.append((typed, names[best.memory.id.int - 1001], best.words))
    assert missed == []
