"""Is a wide basin a robust answer, and does the gradient tell which features matter? Measured on simulated alerts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.ensemble import HistGradientBoostingClassifier

from counterpoise import telemetry
from counterpoise.api.explainer import Explainer
from counterpoise.landscape.ensemble import ensemble
from counterpoise.paper.claims.verdict import put_interval
from counterpoise.paper.exhibit import Exhibit, RunSize
from counterpoise.paper.exhibits.table1_devices import simulate_and_fit
from counterpoise.paper.paired import Interval, bootstrap_mean
from counterpoise.types import Array


@dataclass(frozen=True)
class BasinClaimSettings:
    """How basins and gradients are judged."""

    difference_step: float = 0.01  # of the gradient, in standard deviations
    grid_points: int = 41  # of each feature's observed range
    samples: int = 300  # effective samples of each row's ensemble


BASIN_CLAIMS = BasinClaimSettings()


def measure(scale: RunSize) -> Exhibit:
    """Pairs of basins of the same alert; and the rank correlation of slopes with what features can do alone."""
    pairs = _compare_basins(scale.pick(4, 24), scale.seed)
    ranks = _rank_gradients(scale.pick(10, 60), scale.seed)
    facts: dict[str, float] = {"basin pairs": float(len(pairs)), "basin rows": float(pairs["row"].nunique())}
    for key in ("heavier", "wider"):
        by_row = pairs.groupby("row")[f"{key} is kept more"].mean().to_numpy(dtype=np.float64)
        facts |= put_interval(f"{key} kept", bootstrap_mean(by_row))
    facts |= put_interval("gradient rank", bootstrap_mean(ranks["rank correlation"].to_numpy(dtype=np.float64)))
    shares = {
        key: Interval(*(facts[f"{key} kept{end}"] for end in ("", " low", " high"))) for key in ("heavier", "wider")
    }
    return Exhibit(
        "basins",
        "Wide basins and robust answers; gradients and the features that matter",
        (
            (
                "The ensemble of valid points (cp.ensemble) is cut into basins; each has its weight, the spread of its "
                "points (width) and the share of noisy copies of its minimum that keep the target. Of two basins of "
                f"the same alert, the heavier is kept more in {shares['heavier'].to_text('.0%')} of the pairs, the "
                f"wider in {shares['wider'].to_text('.0%')}: {len(pairs)} pairs of {pairs['row'].nunique()} alerts "
                "that have more than one basin. A coin gives 50 %."
            ),
            (
                "Gradient: rank correlation over the twelve features of |∂f/∂xᵢ| at the alert, in standard deviations, "
                "with the most that feature i alone can take off the score inside its observed range. 1: the slope "
                "says which features matter; 0: it says nothing."
            ),
        ),
        f"simulated devices, seed {scale.seed}; basins: boosted trees, target benign, default energy, T = 0.05 of the "
        f"least effort, {BASIN_CLAIMS.samples} effective samples; gradients: the network of Table I, log-odds, "
        f"{len(ranks)} alerts",
        tables={
            "Pairs of basins": pairs.head(12),
            "Rank correlations": ranks[["rank correlation"]].describe().reset_index(),
        },
        data={"pairs": pairs, "ranks": ranks},
        facts=facts,
    )


def _compare_basins(count: int, seed: int) -> pd.DataFrame:
    """Each pair of basins of one alert: which is kept more."""
    devices = telemetry.simulate(1500, seed)
    model: Any = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(devices.frame, devices.label)
    alerts = devices.frame[model.predict(devices.frame) == "alert"][:count]
    explainer = Explainer(model, reference=devices.frame)
    found = ensemble(explainer, alerts, target="benign", samples=BASIN_CLAIMS.samples, seed=seed).basins
    lines = []
    for row, part in found.groupby("row"):
        for one, two in combinations(part.to_dict("records"), 2):
            apart = one["kept"] - two["kept"]
            lines.append(
                {
                    "row": row,
                    "kept": f"{one['kept']:.2f}, {two['kept']:.2f}",
                    "weight": f"{one['weight']:.2g}, {two['weight']:.2g}",
                    "heavier is kept more": _agrees(apart, one["weight"] - two["weight"]),
                    "wider is kept more": _agrees(apart, one["width"] - two["width"]),
                }
            )
    columns = ["row", "kept", "weight", "heavier is kept more", "wider is kept more"]
    return pd.DataFrame(lines, columns=columns)


def _agrees(kept: float, size: float) -> float:
    """1 if both differences have the same sign, 0.5 for a tie."""
    return 0.5 if kept == 0 or size == 0 else float((kept > 0) == (size > 0))


def _rank_gradients(count: int, seed: int) -> pd.DataFrame:
    """The rank correlation, for each alert, of slopes with what each feature can do alone."""
    model, devices = simulate_and_fit(seed)
    frame = devices.frame.astype(np.float64)
    alerts = frame[model.predict(devices.frame) == "alert"][:count].to_numpy()
    scales = frame.std().to_numpy()
    sign = 1.0 if model.classes_[1] == "alert" else -1.0

    def score(x: Array) -> Array:  # the network's last sum: a probability of nearly 1 has no slope left
        scaler, network = model[0], model[-1]
        value = scaler.transform(pd.DataFrame(x, columns=frame.columns))
        for number, (weights, bias) in enumerate(zip(network.coefs_, network.intercepts_, strict=True)):
            value = (np.maximum(value, 0) if number else value) @ weights + bias
        return np.asarray(sign * value[:, 0])

    slopes, gains = np.empty(alerts.shape), np.empty(alerts.shape)
    for column, name in enumerate(frame.columns):
        step = BASIN_CLAIMS.difference_step * scales[column]
        ahead, behind = alerts.copy(), alerts.copy()
        ahead[:, column] += step
        behind[:, column] -= step
        slopes[:, column] = np.abs(score(ahead) - score(behind)) / 0.02
        tried = np.repeat(alerts, BASIN_CLAIMS.grid_points, axis=0)
        tried[:, column] = np.tile(
            np.linspace(frame[name].min(), frame[name].max(), BASIN_CLAIMS.grid_points), len(alerts)
        )
        gains[:, column] = score(alerts) - score(tried).reshape(len(alerts), -1).min(axis=1)
    ranks = [float(spearmanr(a, b).statistic) for a, b in zip(slopes, gains, strict=True)]
    return pd.DataFrame({"alert": np.arange(len(ranks)), "rank correlation": ranks})
