"""``python -m counterpoise.paper``: where it may write is found out before the work."""

import sys
from pathlib import Path
from typing import Any

import pytest

from counterpoise.paper import __main__ as program


@pytest.mark.parametrize(("place", "why"), [("taken", "it is a file"), ("taken/deeper", "Not a directory")])
def test_a_folder_that_cannot_be_written_is_named_before_the_work(
    tmp_path: Path, place: str, why: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["counterpoise.paper", "--quick", "--out", place])
    assert program.main() == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert (
        said.err
        == f"counterpoise: --out must name a folder that can be written; '{place}': {why}; choose another place\n"
    )


def test_the_page_is_written_to_the_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(folder: str, *asked: Any) -> Path:
        assert (asked[0], asked[2]) == (True, 3)
        return Path(folder) / "paper.html"

    monkeypatch.setattr(program, "write", write)
    monkeypatch.setattr(sys, "argv", ["counterpoise.paper", "--quick", "--out", str(tmp_path / "new"), "--seed", "3"])
    assert program.main() == 0
    assert capsys.readouterr().out == f"{tmp_path / 'new' / 'paper.html'}\n"
