"""Agreement: refitted models are asked about final answers, and one that fails costs no other."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.scale import answer_table

TABLE, CODES = load_breast_cancer(return_X_y=True, as_frame=True)
TABLE = TABLE.iloc[:, :6].rename(columns=lambda name: name.replace("mean ", ""))
LABELS = np.where(CODES, "benign", "malignant")
ROWS = TABLE[LABELS == "malignant"].iloc[:5]


def fit(rows=slice(None), **settings):
    model = make_pipeline(StandardScaler(), LogisticRegression(**settings))
    return model.fit(TABLE.iloc[rows], LABELS[rows])


@cache
def refits(count=8):
    """Refits on bootstrap draws, with other settings, and of another kind."""
    rng = np.random.default_rng(0)
    draws = [fit(rng.integers(0, len(TABLE), len(TABLE)), C=C) for C in np.geomspace(0.1, 10, count - 2)]
    return [*draws, *(RandomForestClassifier(10, random_state=seed).fit(TABLE, LABELS) for seed in range(2))]


class Fails(LogisticRegression):
    """A model that fails on rows of a texture that it does not know."""

    known = ()

    def predict(self, X):
        if not X["texture"].isin(self.known).all():
            raise ValueError("a texture that this model does not know")
        return super().predict(X)


def test_the_share_is_what_the_refits_own_predict_says_of_the_frame_that_is_returned():
    model = fit()
    found = cp.explain(model, ROWS, reference=TABLE, alternatives=2, agree=refits())
    plain = cp.explain(model, ROWS, reference=TABLE, alternatives=2)
    assert found.frame.equals(plain.frame)
    assert found.status.tolist() == plain.status.tolist()
    said = np.array([refit.predict(found.frame) == "benign" for refit in refits()])
    assert found.agree.tolist() == said.mean(axis=0).tolist()
    assert 0 < found.agree.min() < 1
    both = np.array([refit.predict(found.alternatives) == "benign" for refit in refits()])
    assert found.answer_table["agree"].tolist() == both.mean(axis=0).tolist()
    table = cp.robustness(found, models=refits())
    assert table.models.to_numpy().T.tolist() == said.tolist()
    assert table.table["agree"].tolist() == found.agree.tolist()
    assert table.table["kept"].isna().all()
    assert np.isnan(plain.agree).all()


def test_a_firm_answer_is_kept_by_more_refits_than_the_least_change():
    found = cp.explain(fit(), ROWS, reference=TABLE, keep=0.95, noise=0.3, agree=refits())
    assert found.agree.mean() > found.tipping.agree.mean() + 0.2


def test_one_model_that_fails_costs_neither_the_others_nor_the_answers():
    model, others = fit(), refits()[:3]
    unfit = RandomForestClassifier()
    broken, partial = (Fails(max_iter=2000).fit(TABLE, LABELS) for _ in range(2))
    partial.known = set(TABLE["texture"])
    asked = [broken, *others, partial, unfit]
    found = cp.explain(model, ROWS, reference=TABLE, agree=asked)
    strange = ~found.frame["texture"].isin(partial.known).to_numpy()
    assert 0 < strange.sum() < len(strange)
    assert found.measures.agree_of[:, 0].tolist() == np.where(strange, 3, 4).tolist()
    said = np.array([other.predict(found.frame) == "benign" for other in others])
    assert found.agree[strange].tolist() == said.mean(axis=0)[strange].tolist()
    told = " ".join(found.notes)
    assert all(name in told for name in ("model 1 of the 6", "model 5 of the 6", "model 6 of the 6"))
    assert "model 2" not in told
    assert found.valid.all()


def test_a_refit_that_never_saw_a_class_is_asked_about_the_others():
    flowers, kinds = load_iris(return_X_y=True)
    model, some = LogisticRegression(max_iter=500).fit(flowers, kinds), kinds != 2
    without = LogisticRegression(max_iter=500).fit(flowers[some], kinds[some])
    found = cp.explain(model, flowers[[0, 60, 140]], reference=flowers, agree=[without])
    assert found.measures.agree_of[:, 0].tolist()[:2] == [1, 1]
    assert np.isnan(found.agree[2])  # "another class than 2" means nothing to it
    assert any("2; it knows 0, 1" in note for note in found.notes)
    named = cp.explain(model, flowers[[0, 60]], reference=flowers, target=2, agree=[without, model])
    assert named.measures.agree_of[:, 0].tolist() == [1, 1]
    assert named.agree.tolist() == [1, 1]


@pytest.mark.parametrize("asked", ["refit.pkl", fit(), [RandomForestClassifier()], [3]])
def test_what_is_no_list_of_fitted_models_is_refused_before_any_search(asked):
    with pytest.raises(InputError, match="must be a list of fitted models"):
        cp.explain(fit(), ROWS, reference=TABLE, agree=asked)


def test_the_shares_are_in_the_sentence_the_json_and_the_flat_table():
    found = cp.explain(fit(), ROWS, reference=TABLE, agree=refits())
    count = round(found.agree[0] * len(refits()))
    assert f"{count} of {len(refits())} other models" in found[0].text()
    again = cp.Explanation.from_json(found.to_json())
    assert again.agree.tolist() == found.agree.tolist()
    assert found.to_frame()["cp_agree"].tolist() == found.agree.tolist()
    explainer = cp.Explainer(fit(), reference=TABLE)
    parts = [answer_table.explain_table(explainer, ROWS.iloc[part], agree=refits()) for part in ([0, 1], [2, 3, 4])]
    assert pd.concat(parts)["cp_agree"].tolist() == found.agree.tolist()


def test_a_probability_asked_for_and_rows_that_cannot_be_read_are_heeded():
    rows = ROWS.astype(object)
    rows.iloc[1, 0] = "wide"
    found = cp.explain(fit(), rows, reference=TABLE, target="benign", threshold=0.8, agree=refits())
    assert np.isnan(found.agree[1])
    assert found.status[1] == "rejected"
    answers = found.frame.iloc[[0, 2, 3, 4]].astype(float)
    odds = np.array([refit.predict_proba(answers)[:, 0] for refit in refits()])
    assert found.agree[[0, 2, 3, 4]].tolist() == (odds >= 0.8).mean(axis=0).tolist()
