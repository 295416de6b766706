"""Lines that are no rows: each is rejected with its reason, in a file, a folder and a stream alike."""

import json
from pathlib import Path

import pandas as pd
import pytest

from counterpoise.scale import explain_table, read_folder
from counterpoise.scale.unreadable import insert_unreadable
from scale.night import ASK, SETTINGS, alerts, explainer, fill, run
from scale.test_same_bytes import as_bytes

BROKEN = {"csv": [b"1,2\n", b"1,2,tcp,3,T-x,6,7\n", b"1,2,tcp,3,T\xff\n"], "ndjson": [b'{"bytes": 3, "pa\n', b"[3]\n"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("broken"), 12)


@pytest.mark.parametrize("ending", BROKEN)
def test_a_line_that_is_no_row_costs_no_other(folder: Path, ending: str) -> None:
    lines = (folder / f"rows.{ending}").read_bytes().splitlines(keepends=True)
    for number, broken in enumerate(BROKEN[ending]):
        lines.insert(4 + 2 * number, broken)
    (folder / f"bad.{ending}").write_bytes(b"".join(lines))
    words = "explain", *ASK, "--id", "ticket", "-r", f"bad.{ending}"
    into_file, into_folder = run(folder, *words, "-o", f"{ending}.ndjson"), run(folder, *words, "-o", f"{ending}/")
    streamed = run(folder, "explain", *ASK, "--id", "ticket", "-r", "-", "-o", "-", input=b"".join(lines))
    assert [done.returncode for done in (into_file, into_folder, streamed)] == [1, 1, 1], into_folder.stderr
    records = [json.loads(line) for line in streamed.stdout.splitlines()]
    assert [json.loads(line) for line in (folder / f"{ending}.ndjson").read_text().splitlines()] == records
    table = read_folder(folder / ending)
    assert table["cp_status"].tolist() == [record["status"] for record in records]
    rejected = table["cp_status"] == "rejected"
    assert rejected.sum() == len(BROKEN[ending])
    assert table.loc[rejected, ["bytes", "ticket"]].isna().all(axis=None)
    assert table.loc[rejected, "cp_row"].tolist() == [f"position {place}" for place in table.index[rejected]]
    assert table["cp_row"].is_unique
    assert table.loc[~rejected, "ticket"].tolist() == alerts(12)["ticket"].tolist()
    assert run(folder, *words, "-o", f"raise-{ending}.csv", "--on-error", "raise").returncode == 2


@pytest.mark.parametrize(("ending", "first"), [("csv", b"# written at noon\n"), ("ndjson", b'"bytes of today",3\n')])
def test_a_first_line_that_names_no_feature_is_no_header(folder: Path, ending: str, first: bytes) -> None:
    lines = (folder / f"rows.{ending}").read_bytes()
    done = run(folder, "explain", *ASK, "--id", "ticket", "-r", "-", "-o", "-", input=first + lines)
    broken, *others = [json.loads(line) for line in done.stdout.splitlines()]
    assert broken["status"] == "rejected"
    assert "header with the names of the features" in broken["reason"]
    assert [each["row"] for each in others] == alerts(12)["ticket"].tolist()
    assert "rejected" not in {each["status"] for each in others}


def test_the_others_have_the_same_bytes(folder: Path) -> None:
    rows = alerts(6)
    marked = insert_unreadable(rows, {0: "why", 3: "why not", 7: "because"})
    found = explain_table(explainer(), marked, **SETTINGS)
    assert found.loc[found["cp_status"] == "rejected", "cp_reason"].tolist() == ["why", "why not", "because"]
    drop = ["cp_row", "cp_position"]
    alone = explain_table(explainer(), rows, **SETTINGS)
    others = found[found["cp_status"] != "rejected"].assign(**{name: alone[name].to_numpy() for name in drop})
    assert as_bytes(others) == as_bytes(alone)
    none = explain_table(explainer(), insert_unreadable(rows.iloc[:0], {0: "why"}), **SETTINGS)
    assert none["cp_status"].tolist() == ["rejected"]
    assert none.dtypes.drop("ticket").equals(alone.dtypes.drop("ticket"))
    assert isinstance(none, pd.DataFrame)
