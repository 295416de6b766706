"""Progress: a callback, a bar where somebody may be looking, or silence."""

import sys
from types import ModuleType

import pytest
from tests.api.houses import ROWS, explainer

from counterpoise.api.progress import is_in_notebook, show_progress


def test_a_callback_is_called_itself():
    told = []
    with show_progress(lambda done, rows: told.append((done, rows)), 3) as tell:
        tell(1, 3)
    assert told == [(1, 3)]


@pytest.mark.parametrize("wanted", [None, False])
def test_nobody_is_bothered_where_nobody_looks(wanted, capsys):
    with show_progress(wanted, 100) as tell:
        tell(50, 100)
    assert capsys.readouterr() == ("", "")


def test_a_bar_goes_to_standard_error(capsys, monkeypatch):
    with show_progress(True, 100) as tell:
        tell(50, 100)
    written = capsys.readouterr()
    assert written.out == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with show_progress(None, 2) as tell:  # too few to wait for
        tell(1, 2)
    assert capsys.readouterr().out == ""


def test_in_a_notebook_a_bar_appears_only_once_a_call_takes_long(monkeypatch, capsys):
    class ZMQInteractiveShell:
        """What IPython calls the shell of a notebook's kernel."""

    shell = ModuleType("IPython")
    shell.get_ipython = ZMQInteractiveShell
    monkeypatch.setitem(sys.modules, "IPython", shell)
    assert is_in_notebook()
    with show_progress(None, 100, notebook_seconds=60.0) as tell:
        tell(50, 100)
    assert capsys.readouterr() == ("", "")
    with show_progress(None, 2, notebook_seconds=0.0) as tell:
        tell(1, 2)
    assert capsys.readouterr().out  # rich has drawn something


def test_a_call_is_logged_under_the_name_of_the_package(caplog):
    with caplog.at_level("INFO", logger="counterpoise"):
        found = explainer()(ROWS[:2], alternatives=9)
    assert f"2 of 2 rows reach the target; {found.seconds:.3g} s" in caplog.text
    assert all(note in caplog.text for note in found.notes)
