"""counterpoise explain: rows in, answers out, in whatever form the next reader needs."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Annotated, Any

import typer

from counterpoise.cli import options
from counterpoise.cli.config_file import ConfigOption
from counterpoise.cli.exit_codes import ExitCode, exit_when_cut_short, print_to_stderr, reserve_stdout


def explain(
    model: options.ModelOption,
    data: options.DataOption,
    rows: options.RowsOption,
    target: options.TargetOption = "opposite",
    threshold: options.ThresholdOption = None,
    schema: options.SchemaOption = None,
    keep: Annotated[
        float | None, typer.Option("--keep", help="The share of noisy copies that must keep the target: a firm answer.")
    ] = None,
    noise: Annotated[
        str, typer.Option("--noise", help="For --keep and --kept: auto, a number of standard deviations, or rank:0.02.")
    ] = "auto",
    kept: Annotated[
        bool | None,
        typer.Option(
            "--kept/--no-kept", help="Measure how many noisy copies keep each answer; left out for remote models."
        ),
    ] = None,
    agree: options.AgreeOption = None,
    alternatives: options.AlternativesOption = 1,
    distance: Annotated[str, typer.Option("--distance", help="l2, l1, l0, gower, mad or linf.")] = "l2",
    lam: Annotated[
        str, typer.Option("--lam", help="What each change costs beside its size: auto (0.1), or a number; 0: nothing.")
    ] = "auto",
    penalty: Annotated[
        str, typer.Option("--penalty", help="What --lam multiplies: changes (their number) or l1 (their sizes).")
    ] = "changes",
    seed: options.SeedOption = 0,
    budget: options.BudgetOption = None,
    model_rows: options.ModelRowsOption = None,
    proof: Annotated[
        bool | None,
        typer.Option(
            "--proof/--no-proof",
            help="Prove to the end how near to the least the answers are, or not at all; else as far as is quick.",
            show_default=False,
        ),
    ] = None,
    gap: Annotated[
        float, typer.Option("--gap", help="A proof ends where an answer costs at most this share more than the bound.")
    ] = 0.0,
    label: options.LabelOption = None,
    name: options.NameOption = None,
    fixed: options.FixedOption = None,
    increasing: options.IncreasingOption = None,
    decreasing: options.DecreasingOption = None,
    only: options.OnlyOption = None,
    max_changes: options.MaxChangesOption = None,
    flow_rules: options.FlowRulesOption = None,
    new_categories: options.NewCategoriesOption = False,
    no_relations: options.NoRelationsOption = False,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="A .html, .json, .csv, .parquet, .md, .xlsx, .ndjson or FOLDER/; -: NDJSON."),
    ] = None,
    evidence: Annotated[
        str | None,
        typer.Option("--evidence", help="Where to write the real rows of the target nearest to each: .csv, .parquet."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", help="Write findings: ocsf or ecs (JSON lines), stix, sigma (YAML), ticket (Markdown)."),
    ] = None,
    attack_table: Annotated[
        str | None,
        typer.Option("--attack-table", help="For --to: YAML of ATT&CK ids by what the model says: ddos: [T1498]."),
    ] = None,
    redact: options.RedactOption = False,
    log_format: options.FormatOption = None,
    mapping: options.MappingOption = None,
    unset: options.UnsetOption = None,
    safe_csv: options.SafeCsvOption = None,
    trust: options.TrustOption = False,
    factory: options.FactoryOption = None,
    on_error: options.OnErrorOption = "reject",
    jobs: options.JobsOption = 1,
    limit: options.LimitOption = None,
    where: options.WhereOption = None,
    resume: options.ResumeOption = False,
    memory: options.MemoryOption = None,
    report: options.ReportOption = None,
    card: options.CardOption = None,
    strict: options.StrictOption = False,
    quiet: options.QuietOption = False,
    config: ConfigOption = None,
) -> None:
    """The least change that would have given each row another decision.

    Example: counterpoise explain -m detector.skops -d train.csv -l label -r alerts.csv -t benign -o alerts.html

    Columns of the rows that the data does not have, such as ids and times, are carried through. Without --out the
    answers are shown as cards, or as plain text where the output is not a terminal.

    A .csv or .parquet has a line for each answer, with added columns cp_row (its label), cp_position (its place, from
    0), cp_status and so on. The real rows that back an answer up are in NDJSON (evidence), in JSON and in the report;
    beside a .csv, give --evidence a table of their own: they are joined by cp_position.
    """
    given = dict(locals())
    from counterpoise.cli import arguments, table_files, write_answers
    from counterpoise.cli.batch import output_places
    from counterpoise.cli.batch.log_files import RowsFile
    from counterpoise.cli.batch.question import QuestionOptions, prepare_question, read_asked_rows
    from counterpoise.cli.batch.stream_run import answer_standard_input, can_stream
    from counterpoise.cli.run import PART_SIZES, CommandRun

    arguments.check_limit(limit)
    given_words = {"--resume": resume, "--memory": memory, "--report": report, "--card": card}
    arguments.check_folder_words(out, given_words)
    if output_places.is_folder(out):
        raise typer.Exit(_explain_into_folder(given))
    findings = write_answers.finding_format(to, attack_table, out, redact=redact)
    ending = "" if findings is not None else write_answers.output_ending(out, redact=redact)
    rows_file = RowsFile(rows, log_format, mapping)
    evidence_ending = write_answers.evidence_ending(evidence, redact=redact)
    arguments.check_seconds(budget)
    table_files.check_streams(data=data, rows=rows)
    output_places.check_files_differ(
        {"--out": out, "--evidence": evidence},
        {"--model": model, "--data": data, "--rows": rows, "--schema": schema, "--mapping": mapping},
    )
    to_stdout = out == table_files.STANDARD_STREAM
    with exit_when_cut_short(), reserve_stdout() if to_stdout else nullcontext(sys.stdout) as standard:
        asked = prepare_question(QuestionOptions.pick(given))
        if ending in write_answers.NDJSON_ENDINGS and can_stream(rows_file, evidence, budget):
            raise typer.Exit(answer_standard_input(asked, given, standard))
        table = read_asked_rows(asked, rows_file, name, where, limit)
        size = PART_SIZES.first if ending in write_answers.NDJSON_ENDINGS else max(1, len(table))
        run = CommandRun(
            asked.explainer, table, asked.settings, budget, size, redact=redact, strict=strict, quiet=quiet
        )
        writer = write_answers.AnswerWriter(out, ending, standard, asked.explainer, redact, safe_csv, findings)
        real_rows = write_answers.EvidenceWriter(evidence, evidence_ending, asked.explainer, safe_csv)
        try:
            for part in run:
                real_rows.add(part, writer.count)
                writer.write(part)
            real_rows.write()
        except BrokenPipeError:
            raise
        except OSError as error:
            print_to_stderr(
                f"counterpoise: the output must be writable; {error.strerror or error}; {writer.count} of {len(table)} "
                "rows had been finished; make room, or choose another place"
            )
            raise typer.Exit(ExitCode.STOPPED) from None
        code = max(run.finish(), rows_file.exit_code)
    raise typer.Exit(code)


def _explain_into_folder(given: dict[str, Any]) -> int:
    """The same for a folder of parts: rows are read part by part, and each part is written when it is finished."""
    from counterpoise.cli.batch.folder_run import FolderPage, check_folder_options, run_into_folder
    from counterpoise.cli.batch.output_places import check_folder
    from counterpoise.cli.batch.question import QuestionOptions, prepare_question
    from counterpoise.scale.part_sizes import parse_memory

    rows, out = given["rows"], given["out"]
    memory = None if given["memory"] is None else parse_memory(given["memory"])
    check_folder_options(given)
    check_folder(out)
    page = None if given["report"] is None else FolderPage(given["report"], tuple(given["card"] or ()))
    with exit_when_cut_short():
        asked = prepare_question(QuestionOptions.pick(given))
        chosen = {name: given[name] for name in ("name", "where", "limit", "resume", "quiet", "strict")}
        return run_into_folder(asked, rows, out, memory=memory, page=page, **chosen)
