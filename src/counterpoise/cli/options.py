"""Options that several commands share, and how the command line says what the library says of its arguments."""

from __future__ import annotations

import re
from typing import Annotated

import typer

ModelOption = Annotated[
    str, typer.Option("--model", "-m", help="The fitted model: .skops, .onnx, .ubj, .json, .txt, .cbm, .pt, .pkl.")
]
DataOption = Annotated[
    str,
    typer.Option("--data", "-d", help="The data the model was trained on, or a sample of it: CSV, Parquet, NDJSON."),
]
RowsOption = Annotated[str, typer.Option("--rows", "-r", help="The rows, in the same formats; - for standard input.")]
TargetOption = Annotated[
    str,
    typer.Option(
        "--target", "-t", help="A class, several with commas, 'not CLASS', LOW:HIGH for a number, or opposite."
    ),
]
ThresholdOption = Annotated[
    float | None, typer.Option("--threshold", help="The probability that the target must reach.")
]
SchemaOption = Annotated[
    str | None, typer.Option("--schema", "-s", help="YAML: kinds, units, ranges, what may change, rules.")
]
LabelOption = Annotated[
    str | None, typer.Option("--label", "-l", help="The column of the data that holds the class; it is left out.")
]
NameOption = Annotated[str | None, typer.Option("--id", help="The column of the rows that names them.")]
SeedOption = Annotated[int, typer.Option("--seed", help="The same seed gives the same answers.")]
BudgetOption = Annotated[float | None, typer.Option("--budget", help="Seconds for all rows together.")]
AlternativesOption = Annotated[int, typer.Option("--alternatives", "-a", help="Answers for each row, at most.")]
TrustOption = Annotated[
    bool,
    typer.Option("--trust", help="Open the model unchecked; a pickle can run any code: only if you know its origin."),
]
FactoryOption = Annotated[
    str | None, typer.Option("--factory", help="For .pt: package.module:function, which makes the PyTorch module.")
]
ModelRowsOption = Annotated[
    int | None, typer.Option("--model-rows", help="Rows the model may be asked about for each row, never more.")
]
AgreeOption = Annotated[
    list[str] | None,
    typer.Option("--agree", help="A further fitted model, such as a refit: how many give each answer too; repeatable."),
]
FixedOption = Annotated[
    list[str] | None, typer.Option("--fixed", help="A feature that must not change; may be repeated.")
]
IncreasingOption = Annotated[
    list[str] | None, typer.Option("--increasing", help="A feature that may only go up; repeatable.")
]
DecreasingOption = Annotated[
    list[str] | None, typer.Option("--decreasing", help="A feature that may only go down; repeatable.")
]
MaxChangesOption = Annotated[int | None, typer.Option("--max-changes", help="The most features that may change.")]
NewCategoriesOption = Annotated[
    bool,
    typer.Option(
        "--new-categories", help="Allow categories in the rows that the data does not have, if the model takes them."
    ),
]
UnsetOption = Annotated[
    list[str] | None,
    typer.Option("--unset", help="What stands for an empty cell in CSV, such as NA, beside nothing; repeatable."),
]
SafeCsvOption = Annotated[
    bool | None,
    typer.Option(
        "--safe-csv/--no-safe-csv",
        help="Write texts of .csv that a spreadsheet would compute (= + - @) with a ' before them: all of them, or "
        "none; without it, those in added and carried columns.",
    ),
]
NoRelationsOption = Annotated[
    bool, typer.Option("--no-relations", help="Do not keep the relations that every row of the data obeys.")
]
FlowRulesOption = Annotated[
    str | None,
    typer.Option(
        "--flow-rules",
        help="Keep the rules of traffic: any (protocols and ports fixed), attacker or operator (what they can change).",
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="What the rows are: zeek, eve (Suricata), nfstream, cicflowmeter or table; without it, as they look.",
    ),
]
MappingOption = Annotated[
    str | None,
    typer.Option("--mapping", help="YAML that makes the model's columns of a log's fields: columns: {dur: duration}."),
]
RedactOption = Annotated[bool, typer.Option("--redact", help="Write names and directions of changes, no values.")]
OnErrorOption = Annotated[
    str,
    typer.Option("--on-error", help="A row that cannot be answered is set aside (reject), or ends the run (raise)."),
]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", help="Processes that answer the rows; -1: one for each core.")]
LimitOption = Annotated[int | None, typer.Option("--limit", help="Answer so many rows, the first ones, and no more.")]
WhereOption = Annotated[
    str | None,
    typer.Option(
        "--where", help="Answer the rows that a rule holds for, such as \"proba > 0.9 and prediction == 'alert'\"."
    ),
]
OnlyOption = Annotated[
    list[str] | None, typer.Option("--only", help="A feature that may change, and no other; repeatable.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no summary on standard error.")]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Exit code 1 where an answer misses the share that --keep asks for.")
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Go on with a folder of parts: those that are there are left out.")
]
MemoryOption = Annotated[
    str | None, typer.Option("--memory", help="For a folder: how much memory the run may take, such as 2GB.")
]
ReportOption = Annotated[
    str | None, typer.Option("--report", help="For a folder: a page of all rows, with cards of a hundred of them.")
]
CardOption = Annotated[
    list[str] | None,
    typer.Option("--card", help="For --report: the name of a row that is to have a card, and no other; repeatable."),
]

OPTION_BY_ARGUMENT = {
    name: f"--{name.replace('_', '-')}"
    for name in ("alternatives", "distance", "gap", "keep", "lam", "model_rows", "noise", "penalty", "samples")
} | {"T": "--temperature"}
OPTION_WORDS = {  # what messages of the library say to those who write Python, and what it is here
    "explainer.relations lists them, relations=None lifts them": (
        "counterpoise schema --discover lists them, --no-relations lifts them"
    ),
    "new_categories=True, --new-categories": "--new-categories",
    "trust=True (--trust)": "--trust",
    "no keep, kept=False": "no --keep, --no-kept",
    "bounds=None": "a wider range in --data",
    "n_jobs=1": "--jobs 1",
    "fewer n_jobs": "fewer --jobs",
    "values='any'": "values: any in the schema file",
}


def say_in_options(text: str) -> str:
    """A message of the library in the words of the command line.

    >>> say_in_options("keep must be a share between 0 and 1; 2; for instance 0.9, or None")
    '--keep must be a share between 0 and 1; 2; for instance 0.9'
    """
    for argument, option in OPTION_WORDS.items():
        text = text.replace(argument, option)
    text = re.sub(r"cp\.Immutable\('([^']*)'\)", r"--fixed '\1'", text)
    found = re.match(r"(counterpoise: )?(\w+)(?= must )", text)
    if found is None or found[2] not in OPTION_BY_ARGUMENT:
        return text
    start = (found[1] or "") + OPTION_BY_ARGUMENT[found[2]]
    return start + text[found.end() :].replace(", or None", "").replace("'auto'", "auto")
