"""counterpoise serve: the workbench, a page on which a person moves a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from counterpoise.cli import options
from counterpoise.cli.exit_codes import print_to_stderr

if TYPE_CHECKING:
    from counterpoise.web.workbench import Workbench


def serve(
    model: options.ModelOption,
    data: options.DataOption,
    rows: options.RowsOption,
    target: options.TargetOption = "opposite",
    threshold: options.ThresholdOption = None,
    schema: options.SchemaOption = None,
    port: Annotated[int, typer.Option("--port", help="Where the page is served, on this machine; 0: a free one.")] = 0,
    title: Annotated[str, typer.Option("--title", help="What the page is called.")] = "Workbench",
    seed: options.SeedOption = 0,
    label: options.LabelOption = None,
    name: options.NameOption = None,
    fixed: options.FixedOption = None,
    increasing: options.IncreasingOption = None,
    decreasing: options.DecreasingOption = None,
    max_changes: options.MaxChangesOption = None,
    flow_rules: options.FlowRulesOption = None,
    new_categories: options.NewCategoriesOption = False,
    no_relations: options.NoRelationsOption = False,
    log_format: options.FormatOption = None,
    mapping: options.MappingOption = None,
    unset: options.UnsetOption = None,
    trust: options.TrustOption = False,
    factory: options.FactoryOption = None,
) -> None:
    """Serve the workbench for a model and rows: edit a cell and the verdict follows, ask for other answers, see why.

    Example: counterpoise serve -m detector.skops -d train.csv -l label -r alerts.csv -t benign

    The address is printed; it holds for one browser on this machine. Ctrl-C ends it. The rows may be a log of a network
    tool. A row that cannot be read, or that the model fails on, stands in the list as rejected and says why.
    """
    from counterpoise.api.explainer import Explainer
    from counterpoise.cli import arguments, table_files
    from counterpoise.cli.batch.log_files import RowsFile
    from counterpoise.web.workbench import workbench

    rows_file = RowsFile(rows, log_format, mapping)
    table_files.check_streams(data=data, rows=rows)
    marks = arguments.read_unset_marks(schema, unset)
    reference = table_files.read_data(data, label, marks)
    table = rows_file.read(reference, name, marks, rejects=True)
    features, words = arguments.read_constraints(schema, reference, fixed, increasing, decreasing, max_changes)
    words += arguments.read_flow_rules(flow_rules, features, reference)
    explainer = Explainer(
        arguments.open_model(model, trust=trust, factory=factory),
        reference=reference,
        schema=features,
        constraints=words,
        new_categories=new_categories,
        relations=None if no_relations else "discovered",
    )
    wanted = arguments.parse_target(target, explainer.model.labels)
    serve_until_interrupted(
        workbench(explainer, table, target=wanted, threshold=threshold, seed=seed, port=port, title=title)
    )


def serve_until_interrupted(page: Workbench) -> None:
    """Print the address of a workbench, and wait for Ctrl-C."""
    typer.echo(page.url)
    print_to_stderr(f"{len(page.session):,} rows; open the address in a browser on this machine; Ctrl-C ends it")
    page.wait()
