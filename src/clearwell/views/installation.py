"""The installation: keys, settings and the demo meeting."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self
from uuid import UUID

from pydantic import Field, RootModel

from clearwell.settings import Settings
from clearwell.views.settings import mask_setting, write_setting
from clearwell.views.view import View
from clearwell.vocabulary import Right

if TYPE_CHECKING:
    from clearwell.records import ApiKey


class KeyView(View):
    """A key without its secret."""

    id: UUID
    name: str
    scopes: tuple[Right, ...]
    groups: tuple[str, ...] | None = Field(description="null: every group")
    agent_id: str | None = Field(description="the agent that the key is bound to")
    created_at: datetime
    revoked_at: datetime | None

    @classmethod
    def from_record(cls, key: ApiKey) -> Self:
        return cls.read(
            key, scopes=tuple(sorted(key.rights)), groups=None if key.groups is None else tuple(sorted(key.groups))
        )


class NewKeyView(View):
    """A new key. Its secret is shown this once."""

    secret: str = Field(description="the key to send as Authorization: Bearer …; it is not stored")
    key: KeyView

    @classmethod
    def from_record(cls, key: ApiKey, secret: str) -> Self:
        return cls(secret=secret, key=KeyView.from_record(key))


class PrintedKeyView(KeyView):
    """A new key as ``clearwell keys create`` prints it."""

    key: str = Field(description="the secret; it is not stored")

    @classmethod
    def from_new(cls, key: ApiKey, secret: str) -> Self:
        return cls(key=secret, **KeyView.from_record(key).model_dump())


class RevokedKeyView(View):
    """A key that was revoked."""

    id: UUID
    revoked: Literal[True] = True


class KeysView(View):
    """Every key: valid ones first, each part with the newest first."""

    keys: tuple[KeyView, ...]

    @classmethod
    def from_records(cls, keys: Sequence[ApiKey]) -> Self:
        ordered = sorted(keys, key=lambda key: (key.revoked_at is not None, -key.created_at.timestamp()))
        return cls(keys=tuple(KeyView.from_record(key) for key in ordered))


class SettingView(View):
    """A setting in force, without passwords and keys."""

    variable: str
    value: str
    origin: str = Field(description="default, environment or file")
    meaning: str


class SettingsView(View):
    """Every setting, those that differ from their default first."""

    settings: tuple[SettingView, ...]

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        found = [
            SettingView(
                variable=Settings.variables(name)[0],
                value=write_setting(name, getattr(settings, name)),
                origin=settings.origin(name),
                meaning=field.description or "",
            )
            for name, field in Settings.model_fields.items()
        ]
        return cls(settings=tuple(sorted(found, key=lambda setting: setting.origin == "default")))


class SettingValueView(View):
    """A setting in force as a value of JSON, without passwords and keys."""

    value: Any
    variable: str
    origin: str = Field(description="default, environment or file")
    changed: bool = Field(description="whether it is not the default")

    @classmethod
    def from_setting(cls, settings: Settings, name: str) -> Self:
        value, origin = mask_setting(name, getattr(settings, name)), settings.origin(name)
        is_plain = value is None or isinstance(value, bool | int | float | str | tuple)
        return cls(
            value=value if is_plain else str(value),
            variable=Settings.variables(name)[0],
            origin=origin,
            changed=origin != "default",
        )


class SettingsByNameView(RootModel[dict[str, SettingValueView]]):
    """Every setting by its name, as ``clearwell settings`` prints it."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        return cls({name: SettingValueView.from_setting(settings, name) for name in Settings.model_fields})


class DemoView(View):
    """The group in which the demo meeting is being held."""

    group_id: str
