"""The hashes that stand for values in tombstones, keyed with a secret of each group."""

from clearwell.offload import offload
from clearwell.ports import TombstoneStore
from clearwell.text.normalisation import (
    find_metadata_values,
    find_values,
    find_whole_values,
    frame_summary,
    hash_value,
    list_metadata_texts,
)


class ValueHasher:
    """Hashes values of a group, and everything that texts and metadata of a group say."""

    def __init__(self, tombstones: TombstoneStore) -> None:
        self._tombstones = tombstones
        self._secrets: dict[str, bytes] = {}

    async def hash_value(self, group_id: str, value: str) -> bytes:
        """The hash that stands for a normalised value in this group."""
        return hash_value(value, await self._read_secret(group_id))

    async def hash_values(self, group_id: str, *texts: str) -> list[bytes]:
        """The hashes of everything that texts say."""
        secret = await self._read_secret(group_id)
        read = [await offload(len(text), find_values, text) for text in dict.fromkeys(texts)]
        values = dict.fromkeys(value for values in read for value in values)
        return [hash_value(value, secret) for value in values]

    async def hash_metadata(self, group_id: str, *metadata: object) -> list[bytes]:
        """The hashes of everything that texts in metadata say. Only tombstones of forgotten values refuse them."""
        secret = await self._read_secret(group_id)
        texts = list_metadata_texts(metadata)
        values = await offload(sum(map(len, texts)), find_metadata_values, texts)
        return [hash_value(value, secret) for value in values]

    async def hash_promotable_values(self, group_id: str, text: str) -> list[bytes]:
        """The hashes whose tombstones refuse a promotion: of what the text says, and of it as a rejected summary."""
        secret = await self._read_secret(group_id)
        wholes = await offload(len(text), find_whole_values, text)
        summaries = [hash_value(frame_summary(value), secret) for value in wholes]
        return [*await self.hash_values(group_id, text), *summaries]

    async def _read_secret(self, group_id: str) -> bytes:
        if group_id not in self._secrets:
            self._secrets[group_id] = await self._tombstones.secret(group_id)
        return self._secrets[group_id]
