"""Progress: a callback, a bar where somebody may be looking, or silence."""

import sys

import pytest

from counterpoise.api.progress import show_progress


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
