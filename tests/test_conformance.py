"""The contract of a method, held against every public one on every kind of problem.

The points that a method calls valid are inside the region and reach the target; efforts are right and sorted; a second
run is the first, and a row alone is the row in its batch; no time at all is no reason to fail.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import counterpoise as cp
from api.houses import MODEL, ROWS, TRAIN
from counterpoise.streams import Streams

METHODS = {
    "NearestNeighbour": cp.NearestNeighbour(),
    "GradientDescent": cp.GradientDescent(iterations=30),
    "GrowingSpheres": cp.GrowingSpheres(samples=30, shells=8),
    "Lime": cp.Lime(samples=60, rounds=3),
    "RandomSearch": cp.RandomSearch(samples=40, rounds=3),
    "Algorithm1": cp.Algorithm1(iterations=40),
    "Polished": cp.Polished(cp.NearestNeighbour()),
    "Search": cp.Search(),
    "Annealing": cp.Annealing(chains=4, steps=20),
    "the default": cp.Proven(cp.Polished(cp.Search())),
}
NUMBERS = TRAIN[["area", "rooms"]]


def labels_only(frame):
    """A model that accepts missing cells and says no more than a label, one of three."""
    size = frame["area"].fillna(60.0).to_numpy(dtype=float) + 10 * frame["rooms"].to_numpy(dtype=float)
    return np.array(["small", "middling", "large"])[np.searchsorted([95.0, 135.0], size)]


def back_door(frame):
    """Yes by way of a feature that may not change, or through a narrow passage that few reference rows show."""
    narrow = (frame["c"] == "z") & (frame["d"] == "w") & frame["b"].between(2.0, 2.5)
    return np.where((frame["a"] > 0) | narrow, "yes", "no")


def house_with_a_back_door():
    rng = np.random.default_rng(1)
    front = {"a": rng.normal(size=400), "b": rng.normal(size=400)}
    table = pd.DataFrame({**front, "c": rng.choice(list("xyz"), 400), "d": rng.choice(list("uvw"), 400)})
    table.loc[:1, ["a", "b", "c", "d"]] = [-1.0, 2.25, "z", "w"]
    return table, table[(back_door(table) == "no")][:4]


@cache
def problems():
    """Every kind of problem, by name, as the search gets it."""
    holes = NUMBERS.assign(area=NUMBERS["area"].where(np.arange(len(NUMBERS)) % 5 > 0))
    forest = RandomForestClassifier(20, random_state=0).fit(NUMBERS, MODEL.predict(TRAIN))
    words = [cp.Immutable("garden"), cp.Range("area", 40, 150), cp.Increasing("rooms"), cp.MaxChanges(2)]
    fine, kinds = load_breast_cancer(return_X_y=True, as_frame=True)
    boosted = HistGradientBoostingClassifier(random_state=0).fit(fine, kinds)
    hall, guests = house_with_a_back_door()
    cheap = TRAIN[MODEL.predict(TRAIN) == "cheap"]
    return {
        "smooth": caught(cp.Explainer(MODEL, reference=TRAIN), ROWS),
        "constrained": caught(cp.Explainer(MODEL, reference=TRAIN, constraints=words), ROWS),
        "forest": caught(cp.Explainer(forest, reference=NUMBERS), NUMBERS[:5]),
        # split points closer to each other than the decimals of the values
        "boosting": caught(cp.Explainer(boosted, reference=fine), fine.iloc[[81, 133, 165]]),
        "back door": caught(cp.Explainer(back_door, reference=hall, constraints=[cp.Immutable("a")]), guests),
        "labels": caught(cp.Explainer(labels_only, reference=holes), holes[:5]),
        "no donors": caught(cp.Explainer(MODEL, reference=cheap, bounds=None), ROWS[:3]),
        "hopeless": caught(cp.Explainer(MODEL, reference=TRAIN, constraints=[cp.Mutable("garden")]), ROWS[:3]),
        "outside": caught(cp.Explainer(MODEL, reference=TRAIN, constraints=[cp.Range("area", 200, 220)]), ROWS[:3]),
        "L1": caught(cp.Explainer(MODEL, reference=TRAIN, weights={"rooms": 5.0}), ROWS[:3], distance="l1", lam=0.1),
    }


def caught(explainer, rows, **settings):
    """The problem that a method is given for these rows."""
    seen = []

    class Catch:
        def iterate(self, problem, streams):
            seen.append(problem)
            yield cp.NearestNeighbour()(problem, streams)

    explainer(rows, method=Catch(), **settings)
    return seen[0]


CASES = [(method, problem) for method in METHODS for problem in problems()]


@cache
def ran(method, name):
    problem = problems()[name]
    return METHODS[method](problem, Streams.of(problem.x0, 0))


def test_every_public_method_is_in_the_table():
    public = {name for name in cp.__all__ if hasattr(getattr(cp, name), "iterate") and name != "Method"}
    assert public <= {type(method).__name__ for method in METHODS.values()}


@pytest.mark.parametrize(("method", "name"), CASES)
def test_every_valid_point_is_inside_and_reaches_the_target(method, name):
    problem, run = problems()[name], ran(method, name)
    n, d = problem.x0.shape
    assert run.x.shape[::2] == (n, d)
    assert run.valid.shape == run.effort.shape == run.x.shape[:2]
    assert run.done.all()
    assert not np.isnan(run.x[:, 0][~np.isnan(problem.x0)]).any()
    assert problem.region.contains(run.x)[run.valid].all()
    assert problem.score(run.x).reached[run.valid].all()
    np.testing.assert_allclose(run.effort[run.valid], problem.energy.effort(run.x, problem.x0)[run.valid], rtol=1e-12)
    assert np.isinf(run.effort[~run.valid]).all()


@pytest.mark.parametrize(("method", "name"), CASES)
def test_the_best_comes_first(method, name):
    run = ran(method, name)
    assert (np.diff(np.where(run.valid, run.effort, 1e300), axis=1) >= 0).all()


@pytest.mark.parametrize(("method", "name"), CASES)
def test_a_second_run_is_the_first_and_a_row_alone_is_the_row_in_its_batch(method, name):
    problem, run = problems()[name], ran(method, name)
    again = METHODS[method](problem, Streams.of(problem.x0, 0))
    np.testing.assert_array_equal(again.x, run.x)
    last = len(problem) - 1
    alone = METHODS[method](problem.take([last]), Streams.of(problem.x0[last:], 0))
    np.testing.assert_array_equal(alone.valid[0], run.valid[last])
    np.testing.assert_allclose(alone.x[0], run.x[last], rtol=0, atol=1e-9)


@pytest.mark.parametrize(("method", "name"), CASES)
def test_no_time_is_no_reason_to_fail(method, name):
    problem = replace(problems()[name], deadline=0.0)
    run = METHODS[method](problem, Streams.of(problem.x0, 0))
    assert problem.region.contains(run.x)[run.valid].all()
    assert problem.score(run.x).reached[run.valid].all()


@pytest.mark.parametrize("method", METHODS)
def test_a_run_can_be_watched(method):
    problem = problems()["smooth"]
    runs = list(METHODS[method].iterate(problem, Streams.of(problem.x0, 0)))
    assert runs[-1].done.all()
    np.testing.assert_array_equal(runs[-1].x, ran(method, "smooth").x)
    steps = [run.steps for run in runs]
    assert steps == sorted(steps)


@pytest.mark.parametrize(
    "name", ["smooth", "constrained", "forest", "boosting", "back door", "labels", "no donors", "L1"]
)
def test_the_default_finds_an_answer_for_every_row(name):
    assert ran("the default", name).valid.any(axis=1).all()


@pytest.mark.parametrize("name", ["smooth", "constrained", "forest", "labels", "L1"])
def test_polishing_never_makes_an_answer_worse(name):
    before, after = ran("NearestNeighbour", name), ran("Polished", name)
    found = before.valid[:, 0]
    assert (after.effort[found, 0] <= before.effort[found, 0] * (1 + 1e-12)).all()
