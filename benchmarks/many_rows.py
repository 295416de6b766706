"""Many rows: growth, memory, cores, machines and streams; unsw_nb15 repeated with jitter, boosted trees.

python benchmarks/many_rows.py --data ../shared/data --write             every section, about 40 minutes on two cores
python benchmarks/many_rows.py --data ../shared/data --only growth       one of growth, default, memory, cores, stream
python benchmarks/many_rows.py --data ../shared/data --clock --write     cores and stream, which need a quiet machine,
                                                                         and no more than eight minutes of it

A section writes what it measured to out/scale/SECTION.json; --write makes results/scale.md of all that are there.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from xgboost import XGBClassifier

import counterpoise as cp

ROOT = Path(__file__).parents[1]
RESULTS, NOTES = ROOT / "benchmarks" / "results" / "scale.md", ROOT / "out" / "scale"
QUICK: dict[str, Any] = {"target": 0, "proof": False, "kept": False}
HEAD = """# Many rows

`benchmarks/many_rows.py`: unsw_nb15 drawn with repetition and shaken by a thousandth, XGBoost 100 x 6, 5,000 reference
rows. Each section says the load average of the machine's {cores} cores when it began: above 0.3 its clock says little.
"""


def load(place: Path) -> tuple[pd.DataFrame, pd.Series]:
    """The numbers of unsw_nb15, and whether a flow is an attack."""
    table = pd.read_csv(place / "unsw_nb15.csv.gz")
    return table.select_dtypes("number").drop(columns="target"), table["target"].astype(int)


def jittered(rows: pd.DataFrame, count: int, seed: int) -> pd.DataFrame:
    """So many rows, drawn with repetition, their float columns shaken by a thousandth."""
    random = np.random.default_rng(seed)
    out = rows.iloc[random.integers(0, len(rows), count)].reset_index(drop=True)
    for name in out.select_dtypes("float"):
        out[name] *= 1 + 1e-3 * random.standard_normal(count)
    return out


class Bench:
    """The detector, its explainer, and the flows that it calls attacks."""

    def __init__(self, data: Path) -> None:
        table, label = load(data)
        self.train = table.sample(min(5000, len(table)), random_state=0)
        self.model = XGBClassifier(n_estimators=100, max_depth=6, n_jobs=1).fit(self.train, label[self.train.index])
        self.attacks = table[self.model.predict(table) == 1]
        self.explainer = cp.Explainer(self.model, reference=self.train)
        cp.scale.explain_table(self.explainer, jittered(self.attacks, 200, 9), **QUICK)  # what is made once

    def parts(self, count: int, size: int = 2048) -> Iterator[pd.DataFrame]:
        """So many rows in frames, each made when it is asked for."""
        for seed, start in enumerate(range(0, count, size)):
            yield jittered(self.attacks, min(size, count - start), seed)

    def answer(self, count: int, **settings: Any) -> tuple[float, float]:
        """Seconds of this process's CPU, and of the clock, for so many rows into a folder of parts."""
        with tempfile.TemporaryDirectory() as folder:
            cpu, clock = time.process_time(), time.perf_counter()
            cp.scale.explain_to_folder(self.explainer, self.parts(count), folder, progress=False, **settings)
            return time.process_time() - cpu, time.perf_counter() - clock


def growth(bench: Bench, scale: float) -> str:
    """Rows a second of CPU for 1,000 to 100,000 rows, and how far from linear that is."""
    lines, costs = [], []
    for count in (1000, 10_000, 100_000):
        count = max(50, int(count * scale))
        cpu = min(bench.answer(count, **QUICK)[0] for _ in range(3 if count <= 1000 else 1))
        costs.append(cpu / count)
        lines.append(f"| {count:,} | {count / cpu:.0f} | {1000 * cpu / count:.3f} |")
    ratio = costs[-1] / costs[0]
    head = "| rows | rows a second of CPU, one worker | ms of CPU a row |\n|---|---|---|\n"
    return (
        f"{head}{chr(10).join(lines)}\n\nA row of the last costs {ratio:.2f} of one of the first (asked: 0.9 to 1.1)."
    )


def default(bench: Bench, scale: float) -> str:
    """Rows a second of the default settings: proofs and shares kept."""
    count = max(20, int(1000 * scale))
    cpu, _ = bench.answer(count, target=0)
    return f"{count:,} rows with proofs and shares kept: {count / cpu:.0f} a second of CPU, one worker."


def memory(bench: Bench, scale: float) -> str:
    """The peak memory of this process after 100,000 rows, and after 1,000,000."""
    count = max(100, int(1_000_000 * scale))
    peaks = [_peak()]
    bench.answer(count // 10, **QUICK)
    peaks.append(_peak())
    cpu, clock = bench.answer(count, **QUICK)
    return (
        f"{count:,} rows into a folder: peak {_peak():.0f} MiB (asked: at most 2,048); after {count // 10:,} rows "
        f"{peaks[1]:.0f}, before them {peaks[0]:.0f}; {count / cpu:.0f} rows a second of CPU, {clock / 60:.0f} minutes."
    )


def _peak() -> float:
    """The most memory that this process has taken, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def cores(bench: Bench, scale: float) -> str:
    """How much faster two joblib workers, and two of Dask, are than this process alone; the best of three.

    Dask has its workers give memory back after every step (its own setting, MALLOC_TRIM_THRESHOLD_), and so any process
    started after a cluster; here joblib comes first, and Dask is told to keep what it will need again.
    """
    rows = jittered(bench.attacks, max(100, int(20_000 * scale)), 1)
    frames = __import__("dask.dataframe").dataframe
    dask_config = __import__("dask").config
    distributed = __import__("distributed")

    def fastest(way: Callable[[], Any]) -> float:
        took = []
        for _ in range(4):  # first, processes are started, and load what they need
            begun = time.perf_counter()
            way()
            took.append(time.perf_counter() - begun)
        return min(took[1:])

    def answer(workers: int) -> Any:
        return cp.scale.explain_table(bench.explainer, rows, progress=False, n_jobs=workers, **QUICK)

    best = {"alone": fastest(lambda: answer(1)), "joblib": fastest(lambda: answer(2))}
    with (
        dask_config.set({"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 30}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        data = frames.from_pandas(rows, npartitions=16, sort=False)
        best["dask"] = fastest(lambda: cp.scale.explain(bench.explainer, data, client=client, **QUICK).compute())
    count = len(rows)
    lines = [f"| {name} | {count / took:.0f} | {best['alone'] / took:.2f} |" for name, took in best.items()]
    head = ["| workers | rows a second of the clock | times alone |", "|---|---|---|"]
    return f"{count:,} rows; asked: joblib 1.8, Dask 1.5.\n\n" + "\n".join([*head, *lines])


def stream(bench: Bench, scale: float, rate: int = 300) -> str:
    """Milliseconds from line in to line out at 300 lines a second for a minute, and the memory of the process."""
    found = []
    for words in (("--no-proof", "--no-kept"), ()):
        seconds = max(3, int(60 * scale)) if words else max(3, int(20 * scale))
        found.append(_feed(bench, words, rate if words else 20, seconds))
    return "\n\n".join(found)


def _feed(bench: Bench, words: tuple[str, ...], rate: int, seconds: int) -> str:
    count = rate * seconds
    rows = jittered(bench.attacks, count, 3).assign(number=range(count))
    lines = [line.encode() + b"\n" for line in rows.to_json(orient="records", lines=True).splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        model, data = Path(folder) / "model.json", Path(folder) / "train.csv"
        bench.model.save_model(model)
        bench.train.to_csv(data, index=False)
        command = [sys.executable, "-m", "counterpoise", "explain", "-m", str(model), "-d", str(data), "-t", "0"]
        one_core = {"preexec_fn": lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})}
        with subprocess.Popen(
            [*command, "-r", "-", "-o", "-", "--quiet", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            **one_core,
        ) as process:
            sent, came, memory_seen = _run_through(process, lines, rate)
    late = 1000 * (came - sent)[1:]
    p50, p99 = np.percentile(late, [50, 99])
    held = (count - 1) / (came.max() - sent[1:].min())
    what = "proof=False, kept=False" if words else "default"
    return (
        f"{what}, {rate} lines a second for {seconds} s on one core: {held:.0f} came out, median {p50:.0f} ms, "
        f"p99 {p99:.0f}, longest {late.max():.0f}; memory {memory_seen[0]} MiB at first, {memory_seen[1]} at last."
    )


def _run_through(process: Any, lines: list[bytes], rate: int) -> tuple[Any, Any, tuple[int, int]]:
    """When each line was sent and when its answer came, and the memory of the process after warming and at the end."""
    from threading import Thread

    sent, came = np.zeros(len(lines)), np.zeros(len(lines))

    def take() -> None:
        for place in range(1, len(lines)):
            if not process.stdout.readline():
                return
            came[place] = time.monotonic()

    def memory_now() -> int:
        status = Path(f"/proc/{process.pid}/status").read_text()
        return next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmRSS"))

    process.stdin.write(lines[0])
    process.stdin.flush()
    process.stdout.readline()
    reader = Thread(target=take)
    reader.start()
    begun, done, first = time.monotonic(), 1, 0
    while done < len(lines):
        due = min(len(lines), 1 + int((time.monotonic() - begun) * rate))
        if due > done:
            sent[done:due] = time.monotonic()
            process.stdin.write(b"".join(lines[done:due]))
            process.stdin.flush()
            done = due
        if not first and done > len(lines) // 4:
            first = memory_now()
        time.sleep(0.001)
    last = memory_now()
    process.stdin.close()
    reader.join()
    return sent, came, (first, last)


CLOCKED = ("cores", "stream")
SECTIONS = {each.__name__: each for each in (growth, default, cores, stream, memory)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--clock", action="store_true", help="The sections that are measured by the clock alone.")
    parser.add_argument("--scale", type=float, default=1.0, help="A share of the rows and seconds, to try the script.")
    parser.add_argument("--write", action="store_true", help="Write results/scale.md from all sections measured.")
    given = parser.parse_args()
    bench = Bench(given.data)
    NOTES.mkdir(parents=True, exist_ok=True)
    for name in CLOCKED if given.clock else given.only:
        begun, before = time.perf_counter(), os.getloadavg()[0]
        text = SECTIONS[name](bench, given.scale)
        share = "" if given.scale == 1 else f", {given.scale:g} of the rows asked"
        took = f"Load average {before:.1f}; {(time.perf_counter() - begun) / 60:.1f} minutes{share}."
        (NOTES / f"{name}.json").write_text(json.dumps({"text": f"{text}\n\n{took}"}), encoding="utf-8")
        print(f"## {name}\n\n{text}\n\n{took}\n", flush=True)
    if given.write:
        notes = {name: NOTES / f"{name}.json" for name in SECTIONS}
        parts = [
            f"## {name.capitalize()}\n\n{json.loads(path.read_text(encoding='utf-8'))['text']}\n"
            for name, path in notes.items()
            if path.exists()
        ]
        missing = ", ".join(name for name, path in notes.items() if not path.exists())
        text = "\n".join([HEAD.format(cores=os.cpu_count()), *parts])
        RESULTS.write_text(text + (f"\nNot measured: {missing}.\n" if missing else ""), encoding="utf-8")


if __name__ == "__main__":
    main()
