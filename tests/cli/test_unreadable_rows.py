"""Rows that no table of answers could hold: rejected in every format, with a reason, and never an unforeseen error."""

from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest

import counterpoise as cp
from counterpoise.cli import main


class SaysBySum:
    """Says yes where load and ports come to more than 4."""

    classes_ = np.array(["no", "yes"])

    def predict(self, frame: Any) -> Any:
        return self.classes_[(frame["load"].to_numpy(float) + frame["ports"].to_numpy(float) > 4).astype(int)]


TRAIN = pd.DataFrame({"load": (np.arange(40) % 7) / 2, "ports": np.arange(40) % 5})
ROWS = {
    "no line.ndjson": "{\n",
    "a list.ndjson": "[1, 2]\n",
    "digits.ndjson": '{"load": 1, "ports": 1}\n{"load": 1, "ports": ' + "9" * 400 + "}\n",
    "many bits.csv": "load,ports\n1,1\n1,99999999999999999999999\n",
}


@pytest.mark.parametrize("ending", ["csv", "ndjson", "json", "html", "md", "xlsx", "parquet"])
@pytest.mark.parametrize("name", ROWS)
def test_rows_that_cannot_be_held_are_rejected(
    name: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    TRAIN.to_csv("train.csv", index=False)
    joblib.dump(SaysBySum(), "model.pkl")
    Path(name).write_text(ROWS[name])
    with pytest.raises(SystemExit) as ended:
        main(["explain", "-m", "model.pkl", "--trust", "-d", "train.csv", "-r", name, "-o", f"out.{ending}"])
    said = capsys.readouterr().err
    assert ended.value.code == 1, said
    assert "1 rejected" in said
    assert "should not have happened" not in said
    assert Path(f"out.{ending}").exists()


def test_excel_keeps_every_digit_of_a_whole_number(tmp_path: Path) -> None:
    table = TRAIN.assign(number=[2**60 + place for place in range(40)])
    found = cp.explain(SaysBySum().predict, table[:3], reference=table)
    found.to_excel(tmp_path / "answers.xlsx")
    cells = pd.read_excel(tmp_path / "answers.xlsx", sheet_name="answers", dtype=str)
    assert cells["number"].tolist()[0] == str(2**60)
