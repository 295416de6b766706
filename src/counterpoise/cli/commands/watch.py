"""counterpoise watch: follow a file that grows, a pipe or a Kafka topic, and answer each row as it comes."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Annotated

import typer

from counterpoise.cli import options
from counterpoise.cli.config_file import ConfigOption
from counterpoise.cli.exit_codes import SIGNALS, exit_when_cut_short, print_to_stderr, reserve_stdout


def watch(
    source: Annotated[str, typer.Argument(help="A file that grows, - for standard input, or kafka://BROKER/TOPIC.")],
    model: options.ModelOption,
    data: options.DataOption,
    target: options.TargetOption = "opposite",
    threshold: options.ThresholdOption = None,
    schema: options.SchemaOption = None,
    keep: Annotated[float | None, typer.Option("--keep", help="The share of noisy copies that must keep it.")] = None,
    noise: Annotated[str, typer.Option("--noise", help="For --keep: auto, a number, or rank:0.02.")] = "auto",
    kept: Annotated[bool, typer.Option("--kept/--no-kept", help="Measure how many noisy copies keep each.")] = False,
    agree: options.AgreeOption = None,
    alternatives: options.AlternativesOption = 1,
    distance: Annotated[str, typer.Option("--distance", help="l2, l1, l0 or gower.")] = "l2",
    lam: Annotated[str, typer.Option("--lam", help="What each change costs beside its size.")] = "auto",
    penalty: Annotated[str, typer.Option("--penalty", help="What --lam multiplies: changes or l1.")] = "changes",
    seed: options.SeedOption = 0,
    model_rows: options.ModelRowsOption = None,
    proof: Annotated[bool, typer.Option("--proof/--no-proof", help="Prove how near to the least answers are.")] = False,
    gap: Annotated[float, typer.Option("--gap", help="A proof ends at this share above the bound.")] = 0.0,
    label: options.LabelOption = None,
    name: options.NameOption = None,
    fixed: options.FixedOption = None,
    only: options.OnlyOption = None,
    increasing: options.IncreasingOption = None,
    decreasing: options.DecreasingOption = None,
    max_changes: options.MaxChangesOption = None,
    flow_rules: options.FlowRulesOption = None,
    new_categories: options.NewCategoriesOption = False,
    no_relations: options.NoRelationsOption = False,
    where: options.WhereOption = None,
    out: Annotated[str, typer.Option("--out", "-o", help="Where to: .ndjson, which is added to, or - .")] = "-",
    offsets: Annotated[
        str | None, typer.Option("--offsets", help="A file that holds how far the source is answered; FILE only.")
    ] = None,
    redact: options.RedactOption = False,
    unset: options.UnsetOption = None,
    trust: options.TrustOption = False,
    factory: options.FactoryOption = None,
    on_error: options.OnErrorOption = "reject",
    jobs: options.JobsOption = 1,
    quiet: options.QuietOption = False,
    config: ConfigOption = None,
) -> None:
    """Answer the rows of a growing file, a pipe or a Kafka topic as they come, as NDJSON, until it is ended.

    Example: counterpoise watch eve.ndjson -m detector.skops -d train.csv -l label -t benign -o answers.ndjson --offsets
    eve.offset

    Lines are JSON objects, or CSV under a header. A file is followed through rotation and truncation. How far it is
    answered is noted after the answers are written: a run that was killed goes on there, and no line is left out.
    Neither shares kept nor proofs are made unless they are asked for: --kept, --proof.
    """
    given = dict(locals())
    from counterpoise.cli import table_files, write_answers
    from counterpoise.cli.batch import output_places
    from counterpoise.cli.batch.question import QuestionOptions, prepare_question
    from counterpoise.cli.batch.stream_run import StreamAnswers, answer_lines, lines_of_standard_input
    from counterpoise.errors import InputError
    from counterpoise.scale.growing_file import FileLines
    from counterpoise.scale.row_filter import RowFilter
    from counterpoise.scale.stream import KafkaLines, LineSource

    is_file = source != table_files.STANDARD_STREAM and not source.startswith("kafka://")
    if offsets is not None and not is_file:
        raise InputError("--offsets goes with a file", f"the source is {source!r}", "leave it out")
    if write_answers.output_ending(out, redact=redact) not in write_answers.NDJSON_ENDINGS:
        raise InputError("--out of watch must be .ndjson or -", f"{out!r}", "for instance answers.ndjson")
    table_files.check_streams(data=data, rows=source)
    output_places.check_files_differ({"--out": out, "--offsets": offsets}, {"SOURCE": source, "--data": data})
    to_stdout = out == table_files.STANDARD_STREAM
    with exit_when_cut_short(), reserve_stdout() if to_stdout else nullcontext(sys.stdout) as standard:
        prepared = prepare_question(QuestionOptions.pick(given))
        row_filter = None if where is None else RowFilter(prepared.explainer, where)
        lines: LineSource = (
            FileLines(source, offsets)
            if is_file
            else KafkaLines(source)
            if source.startswith("kafka://")
            else lines_of_standard_input()
        )
        is_read_again = offsets is not None or source.startswith("kafka://")
        if not to_stdout:
            write_answers.cut_broken_line(out)
        with nullcontext(standard) if to_stdout else open(out, "a", encoding="utf-8") as stream:

            def write(text: str) -> None:
                with SIGNALS.hold():
                    write_answers.write_whole_lines(stream, text, to_disk=is_read_again)

            answers = StreamAnswers(prepared, write, name, row_filter, redact=redact, is_read_again=is_read_again)
            if isinstance(lines, FileLines):
                answers.take_header(lines.first_line)
                if lines.is_lost:
                    gone = f"the file that {offsets!r} speaks of is gone"
                    print_to_stderr(f"note: {gone}: {source!r} is read from its start")
            code = answer_lines(lines, answers, quiet=quiet)
    raise typer.Exit(code)
