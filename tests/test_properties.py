"""Whatever the table, the constraints and the model: no answer is called valid that the model or a constraint refutes.

The judge is `worlds.violations` and the model itself, asked about the frame that the user gets.
"""

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import counterpoise as cp
from worlds import NUMBERS, POOLS, constraints, seeds, tables, violations

MANY = settings(max_examples=100, suppress_health_check=list(HealthCheck))
SOME = settings(MANY, max_examples=40)
METHODS = [
    cp.NearestNeighbour(),
    cp.Polished(cp.NearestNeighbour()),
    cp.Polished(cp.Search()),
    cp.Proven(cp.Polished(cp.Search())),
    cp.Annealing(chains=4, steps=6),
]
LABELS = ("no", "yes")


class Machine:
    """A model of any table of `worlds`: a sum over the cells, and one of several ways to decide by it."""

    def __init__(self, named, way, seed):
        rng = np.random.default_rng(seed)
        self.named, self.way = named, way
        self.weights = rng.normal(size=len(named))
        self.gone = rng.normal(size=len(named))  # what a missing cell is worth
        self.middle = 0.0

    def total(self, frame):
        total = np.zeros(len(frame))
        for (name, kind), weight, gone in zip(self.named.items(), self.weights, self.gone, strict=True):
            cells = frame[name]
            if kind in NUMBERS:
                values = pd.to_numeric(cells).to_numpy(dtype=float, na_value=np.nan)
            else:
                known = [value for value in POOLS[kind][1] if not pd.isna(value)] + ["extreme", "never"]
                places = {value: float(place) for place, value in enumerate(known)}
                values = np.array([places.get(value, np.nan) if not pd.isna(value) else np.nan for value in cells])
            total += np.where(np.isnan(values), gone, weight * np.tanh(values / 3))
        return total - self.middle

    def __call__(self, frame):
        total = self.total(frame)
        if self.way == "labels":
            return np.where(total > 0, "yes", "no")
        if self.way == "number":
            return total
        p = 1 / (1 + np.exp(-4 * (np.floor(2 * total) / 2 if self.way == "steps" else total)))
        return np.column_stack([1 - p, p])

    def decision(self, frame):
        answer = self(frame)
        if self.way in ("smooth", "steps"):
            return np.array(LABELS)[answer.argmax(axis=1)]
        return answer


@st.composite
def questions(draw):
    """An explainer, rows, what is asked of each, and the parts to judge by."""
    named, reference, rows = draw(tables(most=4, rows=12))
    words = draw(constraints(named, most=3))
    machine = Machine(named, draw(st.sampled_from(["labels", "smooth", "steps", "number"])), draw(seeds))
    machine.middle = float(np.median(machine.total(reference)))
    function = cp.Function(machine, labels=None if machine.way == "number" else LABELS)
    try:
        explainer = cp.Explainer(function, reference=reference, constraints=words)
    except cp.ConstraintError:
        assume(False)
    target = (0.25, None) if machine.way == "number" else draw(st.sampled_from(["opposite", "yes"]))
    return explainer, machine, named, reference, rows, words, target


@MANY
@given(questions(), st.sampled_from(METHODS), st.integers(0, 3))
def test_no_answer_is_called_valid_that_the_model_or_a_constraint_refutes(question, method, alternatives):
    explainer, machine, named, reference, rows, words, target = question
    e = explainer(rows, target=target, method=method, alternatives=1 + alternatives)
    assert set(e.status) <= {"optimal", "bounded", "valid", "not_found", "infeasible"}
    np.testing.assert_array_equal(e.valid, np.isin(e.status, ["optimal", "bounded", "valid"]))
    said, before = machine.decision(e.frame), machine.decision(rows)
    wanted = {"opposite": lambda now, then: now != then, "yes": lambda now, then: now == "yes"}.get(
        target if isinstance(target, str) else "", lambda now, then: now >= 0.25
    )
    assert wanted(said, before)[e.valid].all()
    # no answer at all breaks a constraint; a row that cannot obey them all comes back as it was
    obeys = e.status != "infeasible"
    assert violations(named, reference, words, rows[obeys], e.frame[obeys]) == []
    pd.testing.assert_frame_equal(e.frame[~obeys], rows[~obeys])
    others = e.alternatives
    owners = others.index.get_level_values("row")
    assert violations(named, reference, words, rows.loc[owners], others.set_axis(owners)) == []
    held = e.valid[owners]
    assert wanted(machine.decision(others), machine.decision(rows.loc[owners]))[held].all()
    # a row that has the target and obeys the constraints needs no change
    there = wanted(before, before) & (e.energy["distance"] == 0).to_numpy()
    assert e.valid[there & obeys].all()


@SOME
@given(questions(), st.sampled_from(METHODS))
def test_a_row_alone_is_the_row_in_its_batch_and_a_second_run_is_the_first(question, method):
    explainer, _, _, _, rows, _, target = question
    e = explainer(rows, target=target, method=method)
    again = explainer(rows, target=target, method=method)
    alone = explainer(rows.iloc[[-1]], target=target, method=method)
    pd.testing.assert_frame_equal(again.frame, e.frame)
    pd.testing.assert_frame_equal(again.energy, e.energy)
    assert again.model_rows == e.model_rows
    np.testing.assert_array_equal(alone.x[0], e.x[-1])
    assert alone.status[0] == e.status[-1]
    assert alone.reason[0] == e.reason[-1]
