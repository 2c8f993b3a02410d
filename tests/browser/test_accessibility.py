"""Every page of the console passes axe-core without a serious finding, with content and without."""

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any
from uuid import uuid4

import pytest

from clearwell.adapters.http.console.navigation import PAGES, page_url
from tests.browser.conftest import Console
from tests.browser.test_overview import SAID, SAID_NEXT, say
from tests.insights import put_insight

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
RUN = "axe.run({resultTypes: ['violations']})"
GRAVE = {"serious", "critical"}
LOOKS = (("en-US", "light", 1280), ("zh-CN", "dark", 390))


@pytest.fixture(scope="module")
async def group(module_console: Console) -> str:
    """A group with an entry of a session, a refused output, a memory and an insight."""
    name = f"axe-{uuid4()}"
    memory = module_console.memory
    await memory.capture(replace(say(name, SAID), session_id="meeting-1", node_id="advocate"), wait=True)
    await memory.capture(say(name, "A guess that nobody has looked into yet, as far as known.", 0.2), wait=True)
    await memory.promote("Nightly backups of the billing database take forty minutes.", group=name)
    await put_insight(module_console.clearwell, name, SAID_NEXT, [say(name, SAID_NEXT)], flags=["single_author"])
    return name


@pytest.mark.parametrize(("language", "theme", "width"), LOOKS)
async def test_no_page_has_a_serious_finding(
    console: Console, group: str, language: str, theme: str, width: int
) -> None:
    paths = ["/sign-in", "/no/page", *(page_url(of, page.name) for of in (group, "axe-empty") for page in PAGES)]
    found: list[str] = []
    async with console.open("/", language=language, theme=theme, width=width) as page:
        for path in paths:
            await page.goto(path)
            await page.evaluate(AXE)
            report: Mapping[str, Any] = await page.evaluate(RUN)
            found += [
                f"{path}: {finding['id']} {[node['target'] for node in finding['nodes']][:3]}"
                for finding in report["violations"]
                if finding["impact"] in GRAVE
            ]
    assert found == []
