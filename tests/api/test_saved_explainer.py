"""A saved explainer answers as the one that was saved, runs nothing, and says what is wrong with any other file."""

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import counterpoise as cp
from counterpoise.errors import InputError

RNG = np.random.default_rng(3)
TABLE = pd.DataFrame(
    {
        "fwd": RNG.integers(1, 90, 300),
        "bwd": RNG.integers(1, 90, 300),
        "load": RNG.normal(size=300).round(2),
        "proto": RNG.choice(["tcp", "udp"], 300),
    }
)
TABLE["total"] = TABLE.fwd + TABLE.bwd
LABEL = np.where(TABLE.total / 40 + TABLE.load + (TABLE.proto == "udp") > 2.5, "alert", "benign")
NUMBERS = ["fwd", "bwd", "load", "total"]


def mixed(last: object) -> object:
    steps = make_column_transformer((OneHotEncoder(), ["proto"]), (StandardScaler(), NUMBERS))
    return make_pipeline(steps, last).fit(TABLE, LABEL)


@pytest.mark.parametrize("last", [LogisticRegression(), RandomForestClassifier(8, max_depth=4, random_state=0)])
def test_a_loaded_explainer_gives_the_same_answers(last: object, tmp_path: Path) -> None:
    explainer = cp.Explainer(
        mixed(last),
        reference=TABLE,
        constraints=[cp.Increasing("load"), cp.Range("fwd", 0, 80)],
        weights={"load": 2.0, "proto": np.inf},
    )
    explainer.save(tmp_path / "alerts.cpx")
    again = cp.load_explainer(tmp_path / "alerts.cpx")
    assert again.schema == explainer.schema
    assert again.relations.constraints == explainer.relations.constraints
    assert len(again.relations)
    assert repr(again) == repr(explainer)
    one, other = explainer(TABLE[:6]), again(TABLE[:6])
    pd.testing.assert_frame_equal(one.frame, other.frame)
    assert one.question.settings == other.question.settings
    np.testing.assert_array_equal(one.kept, other.kept)


def test_xgboost_comes_back_as_the_class_that_it_was(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=8, max_depth=3).fit(TABLE[NUMBERS], LABEL == "alert")
    explainer = cp.Explainer(model, reference=TABLE[NUMBERS])
    explainer.save(tmp_path / "alerts.cpx")
    again = cp.load_explainer(tmp_path / "alerts.cpx")
    assert type(again._user_model) is type(model)
    np.testing.assert_array_equal(again(TABLE[NUMBERS][:5]).x, explainer(TABLE[NUMBERS][:5]).x)


def test_a_model_without_a_safe_format_is_given_again(tmp_path: Path) -> None:
    path = tmp_path / "alerts.cpx"
    model = mixed(LogisticRegression())
    explainer = cp.Explainer(lambda rows: model.predict_proba(rows)[:, 1], reference=TABLE)
    with pytest.raises(InputError, match=r"format that holds data alone.*with_model=False"):
        explainer.save(path)
    assert not path.exists()
    explainer.save(path, with_model=False)
    with pytest.raises(InputError, match=r"saved without its model.*load_explainer\(path, model=model\)"):
        cp.load_explainer(path)
    again = cp.load_explainer(path, model=lambda rows: model.predict_proba(rows)[:, 1])
    np.testing.assert_array_equal(again(TABLE[:3], target=(0.6, 1.0)).x, explainer(TABLE[:3], target=(0.6, 1.0)).x)
    with pytest.raises(InputError, match="must be the one that the explainer was saved with"):
        cp.load_explainer(path, model=lambda rows: model.predict_proba(rows)[:, 0])


def test_code_of_the_users_own_is_not_saved(tmp_path: Path) -> None:
    odd = make_pipeline(FunctionTransformer(_double), LogisticRegression()).fit(TABLE[NUMBERS], LABEL)
    with pytest.raises(InputError, match="cannot hold safely"):
        cp.Explainer(odd, reference=TABLE[NUMBERS]).save(tmp_path / "alerts.cpx")
    bound = cp.Explainer(mixed(LogisticRegression()), reference=TABLE, constraints=[_is_quiet])
    with pytest.raises(InputError, match=r"must be data.*with_constraints"):
        bound.save(tmp_path / "alerts.cpx")
    assert not list(tmp_path.iterdir())


def _double(x: pd.DataFrame) -> pd.DataFrame:
    return 2 * x


def _is_quiet(rows: pd.DataFrame) -> pd.Series:
    return rows["load"] < 5


def test_other_files_are_refused_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "alerts.cpx"
    with pytest.raises(InputError, match="must exist"):
        cp.load_explainer(path)
    path.write_text("no zip")
    with pytest.raises(InputError, match="must be whole"):
        cp.load_explainer(path)
    cp.Explainer(mixed(LogisticRegression()), reference=TABLE).save(path)
    with ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for changed in ({"explainer.json": b"{}"}, {"explainer.json": b"[1"}, {"model.skops": b"PK"}):
        with ZipFile(path, "w") as archive:
            for name, data in (parts | changed).items():
                archive.writestr(name, data)
        with pytest.raises(InputError, match="must be whole"):
            cp.load_explainer(path)
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr("explainer.json", parts["explainer.json"])
    with pytest.raises(InputError, match="parts that unfold"):
        cp.load_explainer(path)
