"""The law: a row's answer has the same bytes, whatever the chunks, the order, the workers and the interruptions."""

import json
import random
import signal
import time
import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

import counterpoise as cp
from counterpoise.scale import explain_table, explain_to_folder, read_folder
from scale.night import ASK, SETTINGS, alerts, explainer, fill, run, start


def as_bytes(table: pd.DataFrame) -> bytes:
    """The table as Parquet, in the order of positions."""
    stream = BytesIO()
    table.sort_values(["cp_position", "cp_alternative"], ignore_index=True).to_parquet(stream, index=False)
    return stream.getvalue()


def rows_with_a_bad_one() -> pd.DataFrame:
    rows = alerts(40).astype(object)
    rows.loc[5, "packets"] = "many"
    rows.loc[11, "proto"] = "carrier pigeon"
    return rows


@pytest.mark.parametrize("settings", [SETTINGS, {"target": "benign", "alternatives": 2}], ids=["quick", "default"])
def test_chunks_and_order_change_no_byte(settings: dict[str, Any]) -> None:
    rows = rows_with_a_bad_one()
    whole = as_bytes(explain_table(explainer(), rows, **settings))
    cuts = np.array_split(np.arange(len(rows)), 7)
    parts = [explain_table(explainer(), rows.iloc[cut], first=int(cut[0]), **settings) for cut in cuts]
    assert as_bytes(pd.concat(parts, ignore_index=True)) == whole
    order = np.random.default_rng(0).permutation(len(rows))
    shuffled = explain_table(explainer(), rows.iloc[order], **settings)
    shuffled["cp_position"] = order[shuffled["cp_position"]]
    assert as_bytes(shuffled) == whole


def _multiplying_models() -> dict[str, Any]:
    """Models whose products of matrices are rounded otherwise in calls of another size."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = load_breast_cancer(as_frame=True, return_X_y=True)
    lasts = LogisticRegression(), MLPClassifier((16,), max_iter=80, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        linear, network = (make_pipeline(StandardScaler(), last).fit(x, y) for last in lasts)

    def score(rows: Any) -> Any:
        return linear.predict_proba(rows)[:, 1]

    return {"linear": linear, "network": network, "callable": score}


@pytest.mark.parametrize("kind", ["linear", "network", "callable"])
def test_models_that_multiply_matrices_change_no_byte_either(kind: str) -> None:
    x = load_breast_cancer(as_frame=True).data
    model = _multiplying_models()[kind]
    asked = cp.Explainer(model, reference=x)
    rows = x.iloc[::48].reset_index(drop=True)
    settings: dict[str, Any] = {"proof": False, "kept": False}
    if kind == "callable":
        settings["target"], rows = (0.5, None), rows.iloc[[0, 2, 3]].reset_index(drop=True)
    whole = as_bytes(explain_table(asked, rows, **settings))
    alone = [explain_table(asked, rows.iloc[[place]], first=place, **settings) for place in range(len(rows))]
    assert as_bytes(pd.concat(alone, ignore_index=True)) == whole
    order = np.random.default_rng(0).permutation(len(rows))
    shuffled = explain_table(asked, rows.iloc[order], **settings)
    shuffled["cp_position"] = order[shuffled["cp_position"]]
    assert as_bytes(shuffled) == whole


def test_two_workers_change_no_byte() -> None:
    rows = rows_with_a_bad_one()
    assert as_bytes(explain_table(explainer(), rows, n_jobs=2, **SETTINGS)) == as_bytes(
        explain_table(explainer(), rows, **SETTINGS)
    )


def test_two_workers_tell_the_same_in_all_else() -> None:
    rows = rows_with_a_bad_one()
    alone, shared = (explainer()(rows, n_jobs=jobs, **SETTINGS) for jobs in (1, 2))
    assert (shared.notes, shared.model_rows >= alone.model_rows) == (alone.notes, True)
    assert shared.status.tolist() == alone.status.tolist()


def test_no_rows_have_all_columns_and_their_types() -> None:
    some, none = (explain_table(explainer(), alerts(40).iloc[:count], **SETTINGS) for count in (1, 0))
    assert some.dtypes.drop("ticket").to_dict() == none.dtypes.drop("ticket").to_dict()


def test_an_explainer_pickles_small_and_answers_alike() -> None:
    import pickle

    stored = pickle.dumps(explainer())
    model = pickle.dumps(explainer()._user_model)
    assert len(stored) < len(model) + 4 * explainer().reference.x.nbytes + 50_000
    again = pickle.loads(stored)
    rows = alerts(40).iloc[:5]
    assert as_bytes(explain_table(again, rows, **SETTINGS)) == as_bytes(explain_table(explainer(), rows, **SETTINGS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("folders"), 6000)


def part_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("part-*"))}


@pytest.mark.parametrize("points", [2, pytest.param(20, marks=pytest.mark.long)])
def test_killed_at_any_point_and_resumed_it_is_the_same(folder: Path, points: int) -> None:
    words = "explain", *ASK, "-r", "rows.parquet", "--memory", "402MB"
    begun = time.monotonic()
    done = run(folder, *words, "-o", f"whole{points}/")
    lasted = time.monotonic() - begun
    assert done.returncode == 0, done.stderr
    wanted = part_bytes(folder / f"whole{points}")
    assert len(wanted) > 3
    draw, redone = random.Random(points), []
    for _ in range(points):
        process = start(folder, *words, "-o", f"cut{points}/", "--resume")
        time.sleep(draw.uniform(0.3, 1.0) * lasted)
        process.kill()
        process.communicate()
        cut = folder / f"cut{points}"
        for path in [*cut.glob("part-*")]:  # what is there is whole
            assert path.read_bytes() == wanted[path.name]
        lines = (cut / "_manifest.jsonl").read_text().splitlines()[1:] if (cut / "_manifest.jsonl").exists() else []
        redone.append(len([*cut.glob("part-*")]) - len({json.loads(line)["part"] for line in lines if line}))
    assert max(redone) <= 1
    last = run(folder, *words, "-o", f"cut{points}/", "--resume")
    assert last.returncode == 0, last.stderr
    assert part_bytes(folder / f"cut{points}") == wanted
    assert (folder / f"cut{points}" / "_SUCCESS").exists()


def test_a_terminated_run_into_a_folder_is_resumed(folder: Path) -> None:
    words = "explain", *ASK, "-r", "rows.csv", "--limit", "3000", "-o", "ended/"
    process = start(folder, *words)
    manifest = folder / "ended" / "_manifest.jsonl"
    for _ in range(600):
        if manifest.exists() and manifest.read_text().count("\n") > 1:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=120)
    assert process.returncode in (0, 143), said
    assert b"Traceback" not in said
    assert run(folder, *words, "--resume").returncode == 0
    assert len(read_folder(folder / "ended")) == 3000


def test_a_folder_is_resumed_with_the_same_question_alone(tmp_path: Path) -> None:
    rows = alerts(40)
    frames = [rows.iloc[:20], rows.iloc[20:]]
    explain_to_folder(explainer(), frames, tmp_path / "a", **SETTINGS)
    whole = read_folder(tmp_path / "a")
    assert as_bytes(whole) == as_bytes(explain_table(explainer(), rows, **SETTINGS))
    again = explain_to_folder(explainer(), frames, tmp_path / "a", resume=True, **SETTINGS)
    assert again.skipped == 2
    changed = [frames[0], frames[1].assign(rate=9.0)]
    assert explain_to_folder(explainer(), changed, tmp_path / "a", resume=True, **SETTINGS).skipped == 1
    with pytest.raises(cp.InputError, match="question seed was '0' and is '1'"):
        explain_to_folder(explainer(), frames, tmp_path / "a", resume=True, seed=1, **SETTINGS)
    with pytest.raises(cp.InputError, match="new or empty"):
        explain_to_folder(explainer(), frames, tmp_path / "a", **SETTINGS)


def test_a_part_whose_rows_moved_is_made_anew(tmp_path: Path) -> None:
    rows = alerts(40)
    explain_to_folder(explainer(), [rows.iloc[:20], rows.iloc[20:]], tmp_path / "a", **SETTINGS)
    shorter = [rows.iloc[:15], rows.iloc[20:]]
    explain_to_folder(explainer(), shorter, tmp_path / "a", resume=True, **SETTINGS)
    assert read_folder(tmp_path / "a")["cp_position"].tolist() == list(range(35))


def test_a_folder_of_no_rows_is_a_table_too(tmp_path: Path) -> None:
    explain_to_folder(explainer(), [], tmp_path / "a", **SETTINGS)
    found = read_folder(tmp_path / "a")
    assert len(found) == 0
    assert {"bytes", "cp_status", "cp_effort"} <= set(found.columns)


def test_csv_parquet_and_ndjson_in_parts_are_answered_alike(folder: Path) -> None:
    found = []
    for ending in ("csv", "parquet", "ndjson"):
        done = run(folder, "explain", *ASK, "-r", f"rows.{ending}", "--limit", "100", "-o", f"from-{ending}/")
        assert done.returncode == 0, done.stderr
        found.append(as_bytes(read_folder(folder / f"from-{ending}")))
    assert found[0] == found[1] == found[2]
