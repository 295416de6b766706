"""What was asked of the engine beside what was measured: one line a claim."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from comparison import MEASURES, Comparison, Measured, against, solved
from tables import markdown


class Claim(NamedTuple):
    """``measured`` must be at most ``asked``."""

    task: str
    what: str
    measured: float
    asked: float

    @property
    def met(self) -> bool:
        return bool(self.measured <= self.asked)


def write(compared: list[Comparison], answers: Path, folder: Path) -> None:
    """Write targets.md: task by task, then growth and seeds."""
    claims = [claim for comparison in compared for claim in of_task(comparison)]
    claims += [*of_growth(answers / "growth.json"), *of_seeds(answers / "seeds.json")]
    claims = [claim for claim in claims if np.isfinite(claim.asked)]
    body = [
        [claim.task, claim.what, f"{claim.measured:.4g}", f"≤ {claim.asked:.4g}", "yes" if claim.met else "**no**"]
        for claim in claims
    ]
    met = sum(claim.met for claim in claims)
    parts = ["# What was asked, and what was measured", "", f"{met} of {len(claims)} claims are met.", ""]
    parts += markdown(["task", "claim", "measured", "asked", "met"], body)
    parts += ["", "A time is CPU milliseconds a row. Distances are compared on the rows that both solve.", ""]
    (folder / "targets.md").write_text("\n".join(parts))


def of_task(comparison: Comparison) -> Iterator[Claim]:
    name, methods = comparison.task.name, comparison.methods
    mine = [method for method in methods.values() if method.ours and len(method.rows)]
    if not mine:
        return
    bad = sum(int((~good).sum()) for method in mine for good in _good(method))
    yield Claim(name, "answers that are not valid, or break a bound, a category or an integer", bad, 0)
    yield from of_best(comparison)
    yield from of_optimum(comparison)
    yield from of_nice(comparison)
    yield from of_gradients(comparison)


def _good(method: Measured) -> list[np.ndarray]:
    tables = [method.rows, *method.batches.values()]
    return [(t["valid"] & t["legal"] & (t["inside"] | method.free)).to_numpy() for t in tables]


def of_best(comparison: Comparison) -> Iterator[Claim]:
    """For each measure, ours over the best peer's on the rows that both solve, in the same box or without any."""
    for way in ("", "free-"):
        for measure, column in MEASURES.items():
            ours = comparison.methods.get(f"ours-{way}{measure}")
            if ours is None or not len(ours.rows):
                continue
            found = []
            for peer in comparison.peers:
                count, mine, theirs = against(ours, peer, column, 50)
                enough = count >= 0.5 * len(peer.rows) if len(peer.rows) else False
                if enough and theirs > 0:
                    found.append((mine / theirs, peer.name))
            if found:
                worst, peer_name = max(found)
                where = "without bounds" if way else "in the box"
                yield Claim(comparison.task.name, f"{column} over the best peer's ({peer_name}), {where}", worst, 1.0)


def of_optimum(comparison: Comparison) -> Iterator[Claim]:
    name = comparison.task.name
    asked: list[tuple[str, str, float, float]] = []
    if name == "logistic":
        for way, ratio, time in (("", 1.001, 5), ("free-", 1.001, 5), ("blind-", 1.03, 30), ("blind-free-", 1.03, 30)):
            asked += [(f"ours-{way}l2", "l2", ratio, time), (f"ours-{way}l1", "l1", ratio, time)]
        asked += [("ours-l0", "changes", 1.0, 5)]
    elif name == "provable":
        asked = [("ours-l2", "l2", 1.02, 30)]
    elif name == "wide":
        asked = [("ours-blind-free-l2", "l2", 1.14, 300), ("ours-blind-l2", "l2", 1.14, 300)]
    for setting, column, most, time in asked:
        method = comparison.methods.get(setting)
        if method is None or not len(method.rows):
            continue
        ratios = comparison.ratio(method, column, 50)
        if len(ratios):
            yield Claim(name, f"{setting}: {column} over the optimum, mean", float(np.nanmean(ratios)), most)
            yield Claim(name, f"{setting}: time in a batch of 50", method.batch_milliseconds(50), time)


def of_nice(comparison: Comparison) -> Iterator[Claim]:
    """Against NICE's proximity setting, of its two units the nearer answers and the shorter time."""
    name, methods = comparison.task.name, comparison.methods
    pair = [methods[n] for n in ("nice-proximity", "nice-proximity-std") if n in methods and len(methods[n].rows)]
    if not pair:
        return
    time = min(method.milliseconds for method in pair)
    for measure in MEASURES:
        ours = methods.get(f"ours-{measure}")
        if ours is None or not len(ours.rows):
            continue
        yield Claim(
            name, f"ours-{measure}: time in a batch of 50, beside NICE-proximity", ours.batch_milliseconds(50), time
        )
        yield Claim(name, f"ours-{measure}: time of one row, beside NICE-proximity", ours.milliseconds, time)
    ours = methods.get("ours-l2")
    if ours is None or not len(ours.rows):
        return
    ratio = max(_share(ours, method, "l2", None) for method in pair)
    yield Claim(name, "l2 of rows one by one over NICE-proximity's", ratio, 1.0)
    most = {"forest": (0.70, time / 3), "rt_iot2022": (0.05, time)}.get(name)
    if most is not None:
        yield Claim(
            name, "l2 in a batch of 50 over NICE-proximity's", max(_share(ours, m, "l2", 50) for m in pair), most[0]
        )
        yield Claim(name, "time in a batch of 50", ours.batch_milliseconds(50), most[1])
    if name == "adult":
        both = [m for n, m in methods.items() if n.startswith("nice-") and len(m.rows)]
        for measure, column in (("l2", "l2"), ("l0", "changes")):
            mine = methods[f"ours-{measure}"]
            best = min(both, key=lambda m: solved(m, True)[column].mean())
            yield Claim(name, f"{column} over the better of NICE's ({best.name})", _share(mine, best, column, 50), 1.0)
            yield Claim(name, f"ours-{measure}: time in a batch of 50", mine.batch_milliseconds(50), best.milliseconds)


def of_gradients(comparison: Comparison) -> Iterator[Claim]:
    methods = comparison.methods
    ours = methods.get("ours-l2")
    if comparison.task.name != "mlp" or ours is None or not len(ours.rows):
        return
    yield Claim("mlp", "ours-l2: time in a batch of 50", ours.batch_milliseconds(50), 10)
    for name in ("ddn-100", "ddn-1000"):
        peer = methods.get(name)
        if peer is None or not len(peer.rows):
            continue
        for size in (50, 100):
            if size in ours.batches and size in peer.batches:
                mine, theirs = ours.batches[size], peer.batches[size]
                both = mine["valid"] & theirs["valid"]
                ratio = mine["l2"][both].mean() / theirs["l2"][both].mean()
                yield Claim("mlp", f"l2 over {name}'s, both in a batch of {size}", float(ratio), 1.0)
                most = peer.batch_milliseconds(size)
                yield Claim(
                    "mlp", f"ours-l2: time in a batch of {size}, beside {name}", ours.batch_milliseconds(size), most
                )


def _share(ours: Measured, peer: Measured, column: str, size: int | None) -> float:
    _, mine, theirs = against(ours, peer, column, size)
    return mine / theirs


def of_growth(path: Path) -> Iterator[Claim]:
    if not path.exists():
        return
    found = json.loads(path.read_text())
    for name in ("gradients", "blind"):
        widest = int(found[name]["by_width"][-1]["d"])
        yield Claim("growth", f"{name}: exponent of the time in d, up to {widest:,}", found[name]["exponent"], 1.1)
    worst = max(found["gradients"]["by_width"], key=lambda f: f["ratio"])
    yield Claim("growth", f"gradients: l2 over the optimum, at its largest (d = {worst['d']:,})", worst["ratio"], 1.01)
    counts = found["by_count"]
    for fewer, more in pairwise(counts):
        yield Claim(
            "growth", f"time a row, {more['rows']:,} rows beside {fewer['rows']:,}", more["cpu_ms"], fewer["cpu_ms"]
        )


def of_seeds(path: Path) -> Iterator[Claim]:
    if path.exists():
        for name, found in json.loads(path.read_text()).items():
            what = f"l2 of a row over {found['seeds']} seeds, deviation over mean, median over rows"
            yield Claim(name, what, found["deviation"], 0.02)
