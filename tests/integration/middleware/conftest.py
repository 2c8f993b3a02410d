"""The program of the command line, as its own tests use it."""

from tests.integration.cli.conftest import program

__all__ = ["program"]
