"""Write schema.sql: the whole schema as the migrations make it, for reading and for comparing."""

import asyncio
import shutil
import tempfile
from pathlib import Path

from tests.schema import SCHEMA_FILE, dumped

from clearwell.embedded import EmbeddedPostgres
from clearwell.stores.postgres import migrate


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="cw-schema-"))
    with EmbeddedPostgres(folder) as running:
        asyncio.run(migrate(running.url))
        SCHEMA_FILE.write_text(dumped(running.url), encoding="utf-8")
    shutil.rmtree(folder)
    print(f"written: {SCHEMA_FILE}")


if __name__ == "__main__":
    main()
