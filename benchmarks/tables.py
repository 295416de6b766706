"""One Markdown table and one figure a task, and every number in one CSV."""

from __future__ import annotations

import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pandas as pd
from comparison import MEASURES, Comparison, Measured, against

LIBRARIES = ("counterpoise", "numpy", "scikit-learn", "xgboost-cpu", "xgboost", "torch", "ortools")

MEANS = """Means over valid answers; distances in standard deviations of the training rows, a changed category counts 1.
Milliseconds are CPU time a row on one thread; a method without batches shows its time for one row."""
OPTIMUM = """The optimum is that of the measure asked for (peers: L2), in the observed range; for `free`, and for peers
that leave the range, without bounds."""


def write(compared: list[Comparison], skipped: dict[str, str], folder: Path) -> None:
    """All files of a run but the targets."""
    for comparison in compared:
        (folder / f"{comparison.task.name}.md").write_text(page(comparison))
        draw(comparison, folder / f"{comparison.task.name}.png")
    pd.DataFrame([line(c, method) for c in compared for method in c.methods.values()]).to_csv(
        folder / "results.csv", index=False, float_format="%.6g"
    )
    (folder / "README.md").write_text(index(compared, skipped))


def line(comparison: Comparison, method: Measured) -> dict[str, object]:
    """Everything measured of one method on one task."""
    rows, about = method.rows, method.about
    found: dict[str, object] = {
        "task": comparison.task.name,
        "method": method.name,
        "version": about.get("version", ""),
        "asked": about.get("rows", 0),
        "tried": len(rows),
        "reason": reason_of(method),
    }
    if not len(rows):
        return found
    valid = rows[rows["valid"]]
    found |= {"valid": rows["valid"].mean()}
    found |= {column: valid[column].mean() for column in ("legal", "whole", "inside", "l2", "l1", "changes")}
    found |= {
        f"{column}_over_optimum": np.mean(comparison.ratio(method, column))
        for column in columns_known(comparison, method)
    }
    found |= {
        "cpu_ms": method.milliseconds,
        "wall_ms": 1000 * rows["wall"].mean(),
        "model_rows": rows["model_rows"].mean(),
    }
    for size, judged in method.batches.items():
        mine = judged[judged["valid"]]
        found |= {f"batch{size}_cpu_ms": method.batch_milliseconds(size)}
        found |= {f"batch{size}_wall_ms": method.batch_milliseconds(size, "wall")}
        found |= {f"batch{size}_{column}": mine[column].mean() for column in ("l2", "l1", "changes")}
        found |= {f"batch{size}_valid": judged["valid"].mean()}
    for clock in ("construct_cpu", "construct_wall", "first_cpu", "first_wall"):
        found[f"{clock}_ms"] = 1000 * about[clock] if clock in about else np.nan
    return found


def columns_known(comparison: Comparison, method: Measured) -> list[str]:
    return list(comparison.optima.get("free" if method.unbounded else "box", {}))


def reason_of(method: Measured) -> str:
    """Why there are no answers, or fewer than were asked for."""
    if method.about.get("reason"):
        return str(method.about["reason"])
    asked, rows = method.about.get("rows", 0), method.rows
    said = [f"{len(rows)} of {asked} rows in the time"] if len(rows) < asked else []
    why = [str(reason) for reason in rows.get("reason", pd.Series(dtype=object)).dropna().unique()]
    return "; ".join(said + why[:2])


def page(comparison: Comparison) -> str:
    """The task's tables: each method by itself, then each peer against ours on the rows that both solve."""
    task = comparison.task
    heads = ["method", "rows", "valid", "in range", "L2", "L1", "changes"]
    heads += ["÷ optimum, mean (median)"] * bool(comparison.optima)
    heads += ["ms, one row", "wall", "ms, batch of 50", "model rows", "construction, ms", "note"]
    body = [cells(comparison, method) for method in comparison.methods.values()]
    parts = [f"# {task.title}", "", f"{len(task.train):,} training rows, {task.train.shape[1]} columns.", ""]
    parts += markdown(heads, body)
    parts += ["", MEANS]
    if comparison.optima:
        parts += [OPTIMUM]
    parts += [
        "",
        "## On the rows that both solve",
        "",
        *versus(comparison),
        "",
        f"![distance against time]({task.name}.png)",
        "",
    ]
    return "\n".join(parts)


def cells(comparison: Comparison, method: Measured) -> list[str]:
    rows = method.rows
    known = bool(comparison.optima)
    if not len(rows):
        return [f"`{method.name}`", *["–"] * (11 + known), reason_of(method)]
    valid = rows[rows["valid"]]
    legal = f", {percent(valid['legal'].mean())} legal" if comparison.task.categories else ""
    asked_for = MEASURES.get(method.name.rsplit("-", 1)[-1], "l2") if method.ours else "l2"
    ratio = comparison.ratio(method, asked_for)
    found = [f"`{method.name}`", str(len(rows)), percent(rows["valid"].mean()) + legal, percent(valid["inside"].mean())]
    found += [number(valid["l2"].mean()), number(valid["l1"].mean()), f"{valid['changes'].mean():.2f}"]
    found += [f"{ratio.mean():.4f} ({np.median(ratio):.4f})" if len(ratio) else "–"] * known
    found += [number(method.milliseconds), number(1000 * rows["wall"].mean()), number(method.batch_milliseconds(50))]
    found += [f"{rows['model_rows'].mean():,.0f}", number(1000 * method.about.get("construct_cpu", np.nan))]
    return [*found, reason_of(method)]


def versus(comparison: Comparison) -> list[str]:
    """Ours over the peer's mean, each measure asked for in turn; below 1 ours is smaller."""
    body = []
    for way in ("", "free-"):
        if f"ours-{way}l2" not in comparison.methods:
            continue
        for peer in comparison.peers:
            found = []
            for measure, column in MEASURES.items():
                mine = comparison.methods.get(f"ours-{way}{measure}")
                count, ours, theirs = against(mine, peer, column) if mine else (0, np.nan, np.nan)
                if column == "l2":
                    found += [f"`{peer.name}`", "no bounds" if way else "in range", str(count)]
                found += [f"{number(ours)} / {number(theirs)} = {number(ours / theirs)}" if count else "–"]
            body.append(found)
    return markdown(["peer", "question", "rows", "L2: ours / peer", "L1: ours / peer", "changes: ours / peer"], body)


def draw(comparison: Comparison, path: Path) -> None:
    """Mean L2 against CPU time a row, one point a method; hollow: ours in a batch of 50."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for method in comparison.methods.values():
        valid = method.rows[method.rows["valid"]] if len(method.rows) else method.rows
        if not len(valid) or (method.ours and not method.name.endswith("l2")):
            continue
        colour = "C3" if method.ours else "C0"
        place = method.milliseconds, valid["l2"].mean()
        axes.plot(*place, "o", color=colour)
        axes.annotate(method.name, place, xytext=(5, 3), textcoords="offset points", fontsize=7, color=colour)
        if method.ours and 50 in method.batches:
            batch = method.batches[50]
            axes.plot(
                method.batch_milliseconds(50), batch["l2"][batch["valid"]].mean(), "o", color=colour, fillstyle="none"
            )
    axes.set(xscale="log", yscale="log", xlabel="CPU milliseconds a row", ylabel="mean L2 (standard deviations)")
    axes.margins(x=0.15)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.tick_params(axis="y", which="minor", labelsize=7)
    axes.set_title(comparison.task.title, fontsize=10)
    figure.savefig(path, dpi=110)


def index(compared: list[Comparison], skipped: dict[str, str]) -> str:
    here = f"{processor()}, Python {platform.python_version()}, one thread a method"
    asked = sorted({int(m.about["rows"]) for c in compared for m in c.methods.values() if m.about.get("rows")})
    rows = " or ".join(map(str, asked))
    parts = [
        "# Measurements",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}: {here}, {rows} rows of each task asked one by one{commit()}.",
        "",
    ]
    parts += [", ".join(f"{library} {found}" for library in LIBRARIES if (found := installed(library))) + ".", ""]
    peers = sorted({str(m.about["version"]) for c in compared for m in c.peers if m.about.get("version")})
    parts += [f"Peers: {', '.join(peers)}.", ""] * bool(peers)
    parts += [f"- [{c.task.title}]({c.task.name}.md)" for c in compared]
    parts += ["- [ours over the best peer](ratios.md)"] * bool(compared)
    parts += [f"- {name}: left out: {reason}" for name, reason in skipped.items()]
    parts += [
        "- [what was asked of the engine, and what was measured](targets.md)",
        "- [sets of NICE's own benchmark](nice_sets.md)",
        "- [every number](results.csv)",
        "",
    ]
    return "\n".join(parts)


def commit() -> str:
    """ ", at commit 1a2b3c4", of this checkout; nothing outside of git."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return f", at commit {done.stdout.strip()}" if done.returncode == 0 else ""


def installed(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def processor() -> str:
    path = Path("/proc/cpuinfo")
    names = (
        [row.split(":", 1)[1].strip() for row in path.read_text().splitlines() if row.startswith("model name")]
        if path.exists()
        else []
    )
    return names[0] if names else platform.processor() or platform.machine()


def markdown(heads: list[str], body: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *body]]


def number(value: float) -> str:
    """Three figures that count.

    >>> number(0.012345), number(3.14159), number(271.828)
    ('0.0123', '3.14', '272')
    """
    if not np.isfinite(value):
        return "–"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}".rstrip(".")


def percent(share: float) -> str:
    return f"{100 * share:.0f} %" if np.isfinite(share) else "–"
