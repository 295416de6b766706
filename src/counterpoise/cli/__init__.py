"""The command line: counterpoise explain, check, schema, report, demo."""

from counterpoise.cli.program import app, main

__all__ = ["app", "main"]
