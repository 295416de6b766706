"""Evidence: real rows of the target, the nearest there are; and a fingerprint that another model does not share."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from alerts import alerts, detector, explained, training
from counterpoise.api.evidence import nearest_target_rows
from counterpoise.explanation.tables import scaled_differences
from counterpoise.models.goals import ClassGoal
from counterpoise.reference_rows import ReferenceRows
from counterpoise.space.distance import Distance
from counterpoise.space.schema.encode import encode


def test_evidence_is_real_and_of_the_target() -> None:
    explanation, frame = explained(), training()[0]
    benign = encode(explanation.schema, frame[detector().predict(frame) == "benign"])
    assert explanation.evidence is not None
    known = {tuple(row) for row in benign.tolist()}
    assert all(tuple(row) in known for rows in explanation.evidence.tolist() for row in rows)


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 5))
def test_no_row_of_the_target_is_nearer(seed: int, count: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "a": rng.normal(0, 1e3, count).round(1),
            "b": rng.choice([0.0, 1.0, np.nan], count),
            "c": rng.choice(np.array(["u", "v", "w", None], dtype=object), count),
        }
    )
    schema = cp.Schema.infer(pd.concat([table, pd.DataFrame({"a": [0.0, 5.0], "b": [0.0, 1.0], "c": ["u", "v"]})]))
    x, x0 = encode(schema, table), encode(schema, table.sample(rows, replace=True, random_state=seed))
    x0 = x0 + np.array([0.5, 0.0, 0.0])
    outputs = rng.normal(size=(count, 2))
    goal = ClassGoal(np.tile([True, False], (rows, 1)), "raw")
    found = nearest_target_rows(schema, x0, goal, ReferenceRows(x, outputs))
    assert found is not None
    pool = x[outputs[:, 0] >= outputs[:, 1]]
    measure = Distance.of(schema, "l2")
    for row in range(rows):
        best = np.sort((scaled_differences(measure, pool, x0[row]) ** 2).sum(axis=1))[:3]
        there = found[row][~np.isnan(found[row]).all(axis=1)]
        mine = (scaled_differences(measure, there, x0[row]) ** 2).sum(axis=1)
        assert mine.tolist() == best.tolist()
        alone = nearest_target_rows(schema, x0[[row]], goal.take([row]), ReferenceRows(x, outputs))
        assert alone is not None
        assert np.array_equal(alone[0], found[row], equal_nan=True)


def test_evidence_goes_with_its_row_and_is_saved() -> None:
    explanation = explained()
    assert explanation.evidence is not None
    for part, places in ((explanation[2], [2]), (explanation[1:3], [1, 2])):
        assert part.evidence is not None
        assert part.evidence.tolist() == explanation.evidence[places].tolist()
    back = cp.Explanation.from_json(explanation.to_json()).evidence
    assert back is not None
    assert back.tolist() == explanation.evidence.tolist()


def test_without_reference_rows_there_is_no_evidence() -> None:
    schema = cp.Schema.infer(training()[0])
    explanation = cp.explain(detector(), alerts()[:1], schema=schema, target="benign")
    assert explanation.evidence is None
    assert "model" not in explanation.versions


def test_a_firm_explanation_has_its_evidence_once() -> None:
    found = cp.explain(detector(), alerts()[:1], reference=training()[0], target="benign", keep=0.8, noise=0.2)
    assert found.evidence is not None
    assert found.tipping is not None
    assert found.tipping.evidence is None


def test_the_fingerprint_tells_models_apart_and_not_questions() -> None:
    frame, label = training()
    other = LogisticRegression(max_iter=50, C=1e-3).fit((frame - frame.mean()) / frame.std(), label)
    asked = {"reference": frame, "target": "benign"}
    first = cp.explain(detector(), alerts()[:1], **asked).versions["model"]
    assert first == cp.explain(detector(), alerts()[1:2], **asked, threshold=0.7).versions["model"]
    assert first != cp.explain(other, alerts()[:1], **asked).versions["model"]


def test_evidence_of_another_shape_is_refused() -> None:
    from dataclasses import replace

    with pytest.raises(cp.InputError, match="evidence must have the shape"):
        replace(explained(), evidence=np.zeros((1, 2, 3)))
