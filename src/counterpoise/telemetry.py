"""Simulated telemetry of IoT devices: the twelve features of the paper's Table I, benign and under attack.

A device has an activity, a radio link, an ambient temperature and a posture (open ports, firmware, encryption). What it
reports follows from these, so that the features hang together: activity drives processor and memory, the processor
heats the device and drains its battery, a poor link loses packets and costs time and power.

An attack pushes on up to four channels, each with a weight of its mode and a strength drawn per device: guessing
(failed logins), probing (scans), flooding (the link) and running (the processor). Malware does a little of everything,
as Mirai did. Weak attacks look benign; and benign devices have bad days: a bad link, a forgotten password, an inventory
scan, a firmware update. So no detector is perfect.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Measurement:
    """One column: its unit ("" for a count or a flag), meaning, plausible range, kind, decimals, and people's name."""

    name: str
    unit: str
    description: str
    low: float
    high: float
    kind: Literal["continuous", "integer", "boolean"]
    decimals: int = 0
    label: str = ""

    @property
    def title(self) -> str:
        """What people call it."""
        return self.label or self.name.replace("_", " ")


FEATURES = (
    Measurement("packet_loss", "%", "packets lost on the way", 0, 100, "continuous", 1),
    Measurement("latency", "ms", "delay of an answer", 1, 2000, "continuous", 1),
    Measurement("throughput", "Mbps", "data sent and received", 0, 100, "continuous", 2),
    Measurement("failed_auth", "", "failed logins in the last hour", 0, 500, "integer", label="failed logins"),
    Measurement("port_scans", "", "scans seen in the last hour", 0, 200, "integer"),
    Measurement("cpu_usage", "%", "processor in use", 0, 100, "continuous", 1, "processor use"),
    Measurement("memory_usage", "%", "memory in use", 0, 100, "continuous", 1, "memory use"),
    Measurement("battery_drain", "%/h", "charge spent in an hour", 0, 5, "continuous", 2),
    Measurement("device_temperature", "°C", "temperature of the device", -20, 110, "continuous", 1),
    Measurement("open_ports", "", "ports that answer", 0, 64, "integer"),
    Measurement("firmware_age", "days", "time since the firmware was built", 0, 2000, "integer"),
    Measurement("encryption", "", "whether traffic is encrypted", 0, 1, "boolean"),
)
"""The columns, in the order of Table I."""

PAPER_ALERT: dict[str, float | int | bool] = {
    "packet_loss": 12.3,
    "latency": 180.0,
    "throughput": 0.5,
    "failed_auth": 20,
    "port_scans": 15,
    "cpu_usage": 85.0,
    "memory_usage": 92.0,
    "battery_drain": 1.2,
    "device_temperature": 78.0,
    "open_ports": 8,
    "firmware_age": 350,
    "encryption": False,
}
"""The alert of Table I ("Original Value")."""

# How hard each mode pushes on: guessing, probing, flooding, running.
_PUSH_BY_MODE = {
    "brute_force": (1.0, 0.2, 0.1, 0.2),
    "port_scan": (0.1, 1.0, 0.2, 0.1),
    "dos": (0.1, 0.1, 1.0, 0.3),
    "malware": (0.4, 0.4, 0.5, 1.0),
}

MODES = ("benign", *_PUSH_BY_MODE)
"""What a device may be going through: nothing, or one of the attacks."""


class Editable(Protocol):
    """A schema, as far as it is described here: ``edit`` gives one with other words for a column."""

    def edit(self, name: Hashable, **changes: Any) -> Self: ...


Schema = TypeVar("Schema", bound=Editable)


class Telemetry(NamedTuple):
    """Devices ``(rows, 12)``, what a detector learns of each ("benign" or "alert"), and the mode behind it."""

    frame: pd.DataFrame
    label: pd.Series[str]
    mode: pd.Series[str]


def simulate(rows: int = 2000, seed: int = 0, attack_share: float = 0.4) -> Telemetry:
    """Draw ``rows`` devices, of which the share ``attack_share`` is under attack; the same seed gives the same devices.

    Returns a frame of the twelve features, the label ("alert" or "benign") and the mode of attack of each device.

    rows: how many devices, at least 1.
    seed: a whole number.
    attack_share: the share that is under attack, 0 to 1.

    >>> frame, label, mode = simulate(rows=500, seed=1)
    >>> frame.shape, int((label == "alert").sum())
    ((500, 12), 200)
    >>> failed = frame["failed_auth"].groupby(mode).mean()
    >>> bool(failed["brute_force"] > 5 * failed["benign"])
    True
    """
    if rows < 1:
        raise ValueError(f"rows must be at least 1; {rows!r} was given; ask for one device or more")
    if not 0 <= attack_share <= 1:
        raise ValueError(
            f"attack_share must lie between 0 and 1; {attack_share!r} was given; give the share of devices under attack"
        )
    rng = np.random.default_rng(seed)
    mode = np.zeros(rows, dtype=np.intp)
    attacked = round(rows * attack_share)
    mode[:attacked] = rng.integers(1, len(MODES), attacked)
    mode = rng.permutation(mode)
    columns = _measure(rng, _draw_pushes(rng, mode), mode > 0)
    frame = pd.DataFrame({feature.name: _round_as_reported(feature, columns[feature.name]) for feature in FEATURES})
    names = pd.Series(np.array(MODES)[mode], name="mode", dtype=str)
    label = pd.Series(np.where(mode > 0, "alert", "benign"), name="label", dtype=str)
    return Telemetry(frame, label, names)


def describe(schema: Schema) -> Schema:
    """The schema of these devices with units, meanings, and people's names for the columns.

    schema: of a table with the twelve features, as `Schema.infer(frame)` gives it.

    >>> from counterpoise.space.schema.schema import Schema
    >>> describe(Schema.infer(simulate(rows=50).frame))["failed_auth"].title
    'failed logins'
    """
    for feature in FEATURES:
        schema = schema.edit(feature.name, unit=feature.unit, label=feature.title, description=feature.description)
    return schema


def _draw_pushes(rng: np.random.Generator, mode: NDArray[np.intp]) -> Array:
    """Strength ``(4, rows)`` of the push on each channel, zero where nothing happens."""
    weights = np.array([(0.0, 0.0, 0.0, 0.0), *_PUSH_BY_MODE.values()])[mode]
    strength = rng.beta(4.0, 1.5, len(mode))[:, None]
    return np.asarray((weights * strength * rng.lognormal(0.0, 0.35, weights.shape)).T, dtype=np.float64)


def _measure(rng: np.random.Generator, pushes: Array, attacked: NDArray[np.bool_]) -> dict[str, Array]:
    """What the devices do, before it is rounded and cut to what can be reported."""
    n = len(attacked)
    guessing, probing, flooding, running = pushes

    def bad_day(chance: float) -> Array:
        """How bad a benign mishap is, zero for the most."""
        return (rng.random(n) < chance) * rng.beta(1.5, 3.0, n)

    activity = rng.beta(2.0, 4.0, n)
    link = rng.gamma(2.0, 0.5, n) + 6.0 * bad_day(0.08)  # 0 is perfect
    busy = activity + 0.9 * bad_day(0.06)
    ambient = rng.normal(24.0, 6.0, n)

    cpu = 8.0 + 55.0 * busy + 52.0 * running + 18.0 * flooding + 6.0 * guessing + rng.normal(0.0, 5.0, n)
    memory = 25.0 + 45.0 * busy + 42.0 * running + 10.0 * flooding + rng.normal(0.0, 7.0, n)
    loss = 0.7 * link + 16.0 * flooding**1.5 + rng.gamma(1.0, 0.3, n)
    latency = 22.0 + 14.0 * link + 210.0 * flooding + 25.0 * probing + rng.gamma(2.0, 5.0, n)
    throughput = (1.0 + 11.0 * activity) * rng.lognormal(0.0, 0.35, n) / (1.0 + 0.15 * link + 5.0 * flooding)
    return {
        "packet_loss": loss,
        "latency": latency,
        "throughput": throughput,
        "failed_auth": rng.poisson(0.6 + 26.0 * guessing + 11.0 * bad_day(0.06)).astype(np.float64),
        "port_scans": rng.poisson(0.3 + 20.0 * probing + 9.0 * bad_day(0.05)).astype(np.float64),
        "cpu_usage": cpu,
        "memory_usage": memory,
        "battery_drain": (0.08 + 0.009 * cpu.clip(0, 100) + 0.05 * link + 0.25 * flooding)
        * rng.lognormal(0.0, 0.15, n),
        "device_temperature": ambient + 0.48 * cpu.clip(0, 100) + rng.normal(0.0, 2.5, n),
        "open_ports": rng.poisson(2.5 + 2.0 * attacked + 3.0 * rng.random(n)).astype(np.float64),
        "firmware_age": rng.gamma(1.6, 110.0 + 70.0 * attacked, n),
        "encryption": (rng.random(n) < np.where(attacked, 0.6, 0.85)).astype(np.float64),
    }


def _round_as_reported(
    feature: Measurement, values: Array
) -> NDArray[np.float64] | NDArray[np.int64] | NDArray[np.bool_]:
    """Values as the device reports them: inside the feature's range, with its decimals and its dtype."""
    within = np.clip(values, feature.low, feature.high)
    if feature.kind == "boolean":
        return within > 0
    if feature.kind == "integer":
        return np.rint(within).astype(np.int64)
    return np.round(within, feature.decimals)
