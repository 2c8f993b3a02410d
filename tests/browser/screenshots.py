"""``make screenshots``: pictures of every page, in both languages, light and dark, wide and narrow."""

from pathlib import Path

import pytest

from clearwell.adapters.http.console.navigation import PAGES, page_url
from clearwell.demo import hold_meetings
from tests.browser.conftest import Console
from tests.integration.http.serving import servers_of

FOLDER = Path(__file__).parents[2] / "screenshots"
LOOKS = (("en-US", "light", 1280), ("zh-CN", "dark", 1280), ("zh-CN", "light", 390), ("en-US", "dark", 390))


@pytest.fixture(scope="module")
async def group(module_console: Console) -> str:
    """A group in which the council of the demo has met."""
    settings = module_console.clearwell.settings
    async for _ in hold_meetings(settings, servers_of(settings), group="council", language="zh", scripted=True):
        pass
    return "council"


@pytest.mark.parametrize(("language", "theme", "width"), LOOKS)
async def test_every_page_is_pictured(console: Console, group: str, language: str, theme: str, width: int) -> None:
    FOLDER.mkdir(exist_ok=True)
    for path in [page_url(group, page.name) for page in PAGES] + ["/sign-in"]:
        async with console.open(path, language=language, theme=theme, width=width) as page:
            await page.wait_for_load_state("load")
            await page.evaluate("document.fonts.ready")
            name = f"{path.rpartition('/')[2]}-{language[:2]}-{theme}-{width}.png"
            await page.screenshot(path=FOLDER / name, full_page=True)
