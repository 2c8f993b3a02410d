"""How to remove the data is said so that it can be copied."""

from pathlib import Path

from clearwell.adapters.cli.installation import removal_command


def test_the_command_is_quoted_for_the_shell(tmp_path: Path) -> None:
    folder = tmp_path / "my data"
    assert removal_command(folder) == f"rm -r -- '{folder}'"


def test_data_that_are_elsewhere_are_removed_too(tmp_path: Path) -> None:
    """Root's PostgreSQL may keep its data outside, behind a link."""
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "data"
    (elsewhere / "postgres").mkdir(parents=True)
    folder.mkdir()
    (folder / "postgres").symlink_to(elsewhere / "postgres")
    assert removal_command(folder) == f"rm -r -- {folder} {elsewhere}"
