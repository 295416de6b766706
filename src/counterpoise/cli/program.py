"""The program: its commands, what it says when something is wrong, and its exit codes."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Sequence
from inspect import cleandoc
from typing import Annotated

import typer

from counterpoise.cli.commands.check import check
from counterpoise.cli.commands.compare import compare
from counterpoise.cli.commands.compare_models import compare_models
from counterpoise.cli.commands.explain import explain
from counterpoise.cli.commands.landscape import landscape
from counterpoise.cli.commands.pages import demo, paper, report
from counterpoise.cli.commands.schema import schema
from counterpoise.cli.commands.serve import serve
from counterpoise.cli.commands.triage import triage
from counterpoise.cli.commands.watch import watch
from counterpoise.cli.exit_codes import EXIT_CODES_HELP, ExitCode, print_to_stderr
from counterpoise.errors import CounterpoiseError, InputError


def _unwrap_paragraphs(text: str) -> str:
    """A docstring with each paragraph on one line, so that the terminal wraps it."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", cleandoc(text))


app = typer.Typer(
    name="counterpoise",
    help="The least change that turns a model's decision, checked, and honest about how fragile it is.",
    epilog=EXIT_CODES_HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    explain,
    triage,
    watch,
    serve,
    landscape,
    check,
    compare,
    compare_models,
    schema,
    report,
    paper,
    demo,
):
    app.command(help=_unwrap_paragraphs(command.__doc__ or ""), epilog=EXIT_CODES_HELP)(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"counterpoise {version('counterpoise')}")
        raise typer.Exit


@app.callback()
def _root_options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error; may stand anywhere.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """The least change that turns a model's decision, checked, and honest about how fragile it is."""


def _refuse_second_model(given: Sequence[str]) -> None:
    """Raise an error for a second --model where one is meant: the parser would take the last without a word."""
    models = [word for word in given if word in ("-m", "--model") or word.startswith("--model=")]
    if len(models) > 1 and "compare-models" not in given:
        raise InputError(
            "this command takes one --model", f"{len(models)} were given", "leave one out, or use compare-models"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program; every error ends in one line on standard error, and in an exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    try:
        _refuse_second_model(given)
        app([word for word in given if word != "--debug"], prog_name="counterpoise")
    except Exception as error:
        if debug:
            traceback.print_exc()
        line = str(error)
        if isinstance(error, OSError) and error.filename is not None:
            line = f"files must be readable and writable; {error.filename!r}: {error.strerror}; choose another place"
        elif not isinstance(error, CounterpoiseError):
            line = f"this should not have happened: {type(error).__name__}: {line}; run with --debug and report it"
        print_to_stderr(f"counterpoise: {line}")
        raise SystemExit(ExitCode.WRONG_QUESTION) from None
