"""The simulated devices: every draw keeps what the table promises; detectors find them neither trivial nor hard."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise.telemetry import FEATURES, MODES, PAPER_ALERT, simulate

NAMES = [feature.name for feature in FEATURES]
DTYPES = {"continuous": np.dtype(float), "integer": np.dtype(np.int64), "boolean": np.dtype(bool)}


@settings(max_examples=25)
@given(rows=st.integers(1, 300), seed=st.integers(0, 2**32), share=st.floats(0, 1))
def test_every_draw_keeps_what_the_table_promises(rows: int, seed: int, share: float) -> None:
    frame, label, mode = simulate(rows, seed, share)
    assert list(frame.columns) == NAMES
    assert len(frame) == len(label) == len(mode) == rows
    assert frame.index.equals(label.index)
    assert frame.index.equals(mode.index)
    for feature in FEATURES:
        column = frame[feature.name]
        assert column.dtype == DTYPES[feature.kind]
        assert column.between(feature.low, feature.high).all()
        if feature.kind == "continuous":
            assert (column.round(feature.decimals) == column).all()
    assert set(mode) <= set(MODES)
    assert ((mode == "benign") == (label == "benign")).all()
    assert set(label) <= {"benign", "alert"}
    assert (label == "alert").sum() == round(rows * share)


@settings(max_examples=10)
@given(rows=st.integers(2, 50), seed=st.integers(0, 2**32))
def test_the_seed_decides_everything(rows: int, seed: int) -> None:
    once, again, other = simulate(rows, seed), simulate(rows, seed), simulate(rows, seed + 1)
    for a, b in zip(once, again, strict=True):
        assert a.equals(b)
    assert not once.frame.equals(other.frame)


def test_every_mode_is_drawn_and_attacks_are_not_sorted_to_one_end() -> None:
    _, label, mode = simulate(400)
    assert set(mode) == set(MODES)
    assert set(label.iloc[:50]) == set(label.iloc[-50:]) == {"benign", "alert"}


@pytest.mark.parametrize(
    ("mode", "feature", "direction"),
    [
        ("brute_force", "failed_auth", 1),
        ("port_scan", "port_scans", 1),
        ("dos", "packet_loss", 1),
        ("dos", "latency", 1),
        ("dos", "throughput", -1),
        ("malware", "cpu_usage", 1),
        ("malware", "memory_usage", 1),
        ("malware", "battery_drain", 1),
        ("malware", "device_temperature", 1),
    ],
)
def test_an_attack_shows_most_where_it_pushes(mode: str, feature: str, direction: int) -> None:
    frame, _, modes = simulate(3000, seed=1)
    medians = direction * frame[feature].groupby(modes).median()
    assert medians.idxmax() == mode


def test_a_busy_processor_heats_the_device_and_drains_its_battery_also_without_attack() -> None:
    frame, label, _ = simulate(3000, seed=2)
    together = frame.loc[label == "benign", ["cpu_usage", "device_temperature", "battery_drain"]].corr()
    assert (together.to_numpy() > 0.3).all()


def test_attacked_devices_are_those_with_the_weaker_posture() -> None:
    frame, label, _ = simulate(3000, seed=3)
    means = frame.astype(float).groupby(label).mean()
    assert means.loc["alert", "open_ports"] > means.loc["benign", "open_ports"]
    assert means.loc["alert", "firmware_age"] > means.loc["benign", "firmware_age"]
    assert means.loc["alert", "encryption"] < means.loc["benign", "encryption"]


@pytest.mark.parametrize("seed", [0, 1])
def test_a_detector_is_good_but_not_perfect(seed: int) -> None:
    frame, label, mode = simulate(4000, seed=seed)
    model = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(frame[:2000], label[:2000])
    right = model.predict(frame[2000:]) == label[2000:]
    assert 0.96 < right.mean() < 0.997
    assert right.groupby(mode[2000:]).mean().min() > 0.9


def test_the_papers_alert_is_a_row_of_the_table() -> None:
    alert = pd.DataFrame([PAPER_ALERT])
    assert list(alert.columns) == NAMES
    assert alert.dtypes.equals(simulate(5).frame.dtypes)
    for feature in FEATURES:
        assert feature.low <= PAPER_ALERT[feature.name] <= feature.high


def test_the_papers_alert_lies_within_what_is_observed() -> None:
    frame = simulate().frame
    for name, value in PAPER_ALERT.items():
        assert frame[name].min() <= value <= frame[name].max()


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingClassifier(max_iter=60, random_state=0),
        RandomForestClassifier(50, random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=["boosting", "forest", "logistic"],
)
def test_every_detector_raises_the_papers_alert(model) -> None:
    frame, label, _ = simulate()
    model.fit(frame, label)
    assert model.predict(pd.DataFrame([PAPER_ALERT]))[0] == "alert"


@pytest.mark.parametrize("arguments", [{"rows": 0}, {"rows": -3}, {"attack_share": -0.1}, {"attack_share": 1.5}])
def test_a_wrong_question_is_answered_in_the_house_grammar(arguments: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"^(rows|attack_share) must .+; .+ was given; .+$"):
        simulate(**arguments)  # type: ignore[arg-type]
