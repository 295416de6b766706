"""The README tells the truth: its example runs and says what it says, its links lead somewhere, its commands exist."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from typer.testing import CliRunner

from counterpoise.cli import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_the_example_says_what_the_readme_says(capsys: pytest.CaptureFixture[str]) -> None:
    place = next(number for number, (kind, text) in enumerate(BLOCKS) if kind == "python" and "import" in text)
    exec(compile(BLOCKS[place][1], "README.md", "exec"), {})
    said, told = capsys.readouterr().out, BLOCKS[place + 1][1]

    # the sentence, not its numbers: those may move with the versions of the libraries
    sentence = re.compile(
        r"Had [\w ]+ been \S+.* instead of \S+.*, the model would have said benign \(0\.\d\d\)\. "
        r"Its effort is .* that is proven. It holds in \d+ of 100 noisy copies.*\.\n"
    )
    assert sentence.fullmatch(said)
    assert sentence.fullmatch(told)


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert [link for link in links if not link.startswith("http") and not (ROOT / link).exists()] == []


def test_every_command_of_the_readme_exists() -> None:
    lines = [line for _, text in BLOCKS for line in text.splitlines() if line.startswith("counterpoise ")]
    assert lines
    for line in lines:
        command, *rest = line.removeprefix("counterpoise ").split()
        page = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
        assert page.exit_code == 0
        assert [word for word in rest if word.startswith("-") and word not in page.output] == []


def test_the_comparison_is_that_of_the_measurements() -> None:
    folder = ROOT / "benchmarks"
    spec = spec_from_file_location("summary", folder / "summary.py")
    assert spec is not None
    assert spec.loader is not None
    summary = module_from_spec(spec)
    spec.loader.exec_module(summary)
    assert f"{summary.BEGIN}\n{summary.table()}\n{summary.END}" in README, "run benchmarks/summary.py"
    assert summary.nearness() in " ".join(README.split()), "run benchmarks/summary.py, which prints the sentence"
