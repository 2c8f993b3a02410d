"""Captures that are built to win retrieval, in the small: ``python -m bench poisoning`` tries a thousand of them."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from bench.poison import FAMILIES, load_topics
from bench.poisoning import Report, open_ground, run

from clearwell.models import OfflineEmbedder
from clearwell.servers import Servers
from clearwell.settings import Settings
from clearwell.testing import ManualClock

CAPTURES = 50
TRIED = 2


@pytest.fixture
async def report(settings: Settings, offline_embedder: OfflineEmbedder) -> Report:
    """Every family against one topic in both languages."""
    assert settings.database_url is not None
    assert settings.redis_url is not None
    servers = Servers(
        database_url=settings.database_url.get_secret_value(),
        redis_url=settings.redis_url.get_secret_value(),
        embedded=(),
    )
    topics = [replace(topic, questions=topic.questions[:1]) for topic in load_topics() if topic.number == 0]
    clock = ManualClock(datetime.now(UTC))
    async with open_ground(settings, servers, offline_embedder, clock) as ground:
        return await run(ground, clock, topics, most_tried=TRIED)


async def test_poison_is_marked_while_it_lives_and_never_becomes_verified(report: Report) -> None:
    families = report.families.values()
    assert sum(one.captured for one in families) == CAPTURES
    assert set(report.tried.values()) == {TRIED}
    assert (report.foreign_memories, +report.succeeded) == (0, {})
    assert sum(one.poisoned_items for one in families) > 0, "some of it reaches agents"
    assert max(one.most_agents for one in families) > max(one.most_keys for one in families) == 1
    assert [one.unmarked for one in families] == [0] * len(FAMILIES)
    assert [one.later_poisoned for one in families] == [0] * len(FAMILIES)
    for name, one in report.families.items():
        assert one.verified_there == report.before.verified_there, name
        assert one.verified_first == report.before.verified_first, name
