"""The command line: counterpoise explain, check, compare, schema, report, paper, demo."""

from counterpoise.cli.program import app, main

__all__ = ["app", "main"]
