"""How much working memory a group has, by the settings."""

from clearwell.records import WorkingCapacity
from clearwell.settings import Settings


def read_capacity(settings: Settings) -> WorkingCapacity:
    agent_size = max(1, int(settings.working_size * settings.working_agent_share))
    return WorkingCapacity(size=settings.working_size, agent_size=agent_size)
