"""The forms of groups and agents."""

from datetime import datetime

from pydantic import BaseModel, Field


class GroupAnswer(BaseModel):
    """What a group is told, and when its digest is due."""

    group_id: str
    system_prompt: str
    digest_cron: str | None
    digest_zone: str | None
    created_at: datetime | None = Field(description="null: nobody has described the group")
    updated_at: datetime | None


class GroupsAnswer(BaseModel):
    groups: list[GroupAnswer]


class AgentNameAnswer(BaseModel):
    group_id: str
    agent_id: str


class AgentAnswer(AgentNameAnswer):
    """Who an agent is to be."""

    persona: str
    created_at: datetime
    updated_at: datetime


class AgentsAnswer(BaseModel):
    agents: list[AgentAnswer]
