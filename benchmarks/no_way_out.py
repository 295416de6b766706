"""Whether the alerts of ciciot2023 that have no answer under the rules of traffic can have one at all.

python benchmarks/no_way_out.py [--rows 200] [--seconds 60]

The same alerts as in `soc.py`. For each without an answer a branch and bound looks for the greatest margin of benign
over boxes of the trees' leaves: protocols and services as the row has them, the ranges of the reference, no flags
without TCP, and in every box the relations between Min, AVG, Max and Std, and between the flags. It shares no code with
the search. Where nothing is left, no legal row is benign.
"""

from __future__ import annotations

import argparse
import heapq
import time
import warnings
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
from tasks import read_table
from useful import fit

import counterpoise as cp

FREE = [
    *("Header_Length", "Time_To_Live", "Rate", "Min", "Max", "AVG", "Std", "IAT"),
    *(f"{flag}_flag_number" for flag in ("fin", "syn", "rst", "psh", "ack", "ece", "cwr")),
]
AT = {name: place for place, name in enumerate(FREE)}
Box = tuple[np.ndarray, np.ndarray]


class Leaves:
    """The leaves that a row can reach by changing the free columns: values, trees, and the sides of their boxes."""

    def __init__(self, model: Any, row: pd.DataFrame) -> None:
        encode, trees = model[0], model[-1]
        names = [name.split("__")[1] for name in encode.get_feature_names_out()]
        cells = encode.transform(row)[0]
        self.base = float(np.ravel(trees._baseline_prediction)[0])
        found: list[tuple[int, float, dict[int, tuple[float, float]]]] = []
        for number, (tree,) in enumerate(trees._predictors):
            waiting: list[tuple[int, dict[int, tuple[float, float]]]] = [(0, {})]
            while waiting:
                place, box = waiting.pop()
                node = tree.nodes[place]
                if node["is_leaf"]:
                    found.append((number, -float(node["value"]), box))
                    continue
                feature, end = int(node["feature_idx"]), float(node["num_threshold"])
                name = names[feature]
                if name not in AT:
                    waiting.append((int(node["left" if self._goes_left(tree, node, cells[feature]) else "right"]), box))
                    continue
                low, high = box.get(AT[name], (-np.inf, np.inf))
                if low < end:
                    waiting.append((int(node["left"]), {**box, AT[name]: (low, min(high, end))}))
                if high > end:
                    waiting.append((int(node["right"]), {**box, AT[name]: (max(low, end), high)}))
        self.tree, self.value = np.array([each[0] for each in found]), np.array([each[1] for each in found])
        self.low, self.high = (
            np.array([[box.get(at, (-np.inf, np.inf))[side] for at in range(len(FREE))] for _, _, box in found])
            for side in (0, 1)
        )
        self.count = len(trees._predictors)

    @staticmethod
    def _goes_left(tree: Any, node: Any, cell: float) -> bool:
        if node["is_categorical"]:
            bits = tree.raw_left_cat_bitsets[node["bitset_idx"]]
            return bool((bits[int(cell) // 32] >> np.uint32(int(cell) % 32)) & 1)
        return bool(cell <= node["num_threshold"])

    def best_of_trees(self, leaves: np.ndarray) -> np.ndarray:
        best = np.full(self.count, -np.inf)
        np.maximum.at(best, self.tree[leaves], self.value[leaves])
        return best

    def bound(self, leaves: np.ndarray) -> float:
        """No point in a box with these leaves has a greater margin."""
        return float(self.best_of_trees(leaves).sum()) - self.base

    def inside(self, box: Box, leaves: np.ndarray) -> np.ndarray:
        low, high = box
        return leaves[((self.low[leaves] < high) & (self.high[leaves] >= low)).all(axis=1)]


def narrow(box: Box) -> bool:
    """Draw the sides of a box in to where the relations can hold; False where they cannot."""
    low, high = box
    least, most, mean, std = (AT[name] for name in ("Min", "Max", "AVG", "Std"))
    ack, psh = AT["ack_flag_number"], AT["psh_flag_number"]
    for _ in range(2):
        low[mean] = max(low[mean], low[least])
        low[most] = max(low[most], low[mean], low[least] + low[std])
        high[mean] = min(high[mean], high[most])
        high[least] = min(high[least], high[mean], high[most] - low[std])
        high[std] = min(high[std], high[most] - low[least])
        high[psh], low[ack] = min(high[psh], high[ack]), max(low[ack], low[psh])
    return bool((low <= high).all())


def legal_box(row: pd.Series, reference: pd.DataFrame) -> Box:
    """The ranges of the reference and of the row itself, and what its protocol leaves of the flags."""
    own = row[FREE].to_numpy(dtype=float)
    low = np.minimum(reference[FREE].min().to_numpy(dtype=float), own)
    high = np.maximum(reference[FREE].max().to_numpy(dtype=float), own)
    for name in FREE[8:]:
        if row["TCP"] == 0:
            low[AT[name]] = high[AT[name]] = 0.0
        elif name[:3] in ("ack", "syn", "psh"):
            high[AT[name]] = min(high[AT[name]], row["TCP"])
    low[AT["Header_Length"]] = max(low[AT["Header_Length"]], row["TCP"])
    return low, high


def choose_split(leaves: Leaves, box: Box, inside: np.ndarray, most: int = 6) -> tuple[int, float]:
    """The side of a leaf that leaves the lower bounds on its two sides."""
    best = (np.inf, 0, 0.0)
    for at in range(len(FREE)):
        ends = np.unique(np.concatenate([leaves.low[inside, at], leaves.high[inside, at]]))
        ends = ends[(ends >= box[0][at]) & (ends < box[1][at])]
        if len(ends) > most:
            ends = ends[np.linspace(0, len(ends) - 1, most).astype(int)]
        for end in ends.tolist():
            sides = [
                leaves.bound(inside[leaves.low[inside, at] < end]),
                leaves.bound(inside[leaves.high[inside, at] > end]),
            ]
            best = min(best, (max(sides) + 0.2 * min(sides), at, end))
    return best[1], best[2]


def look_for_way_out(model: Any, row: pd.DataFrame, reference: pd.DataFrame, seconds: float) -> tuple[str, int]:
    """What a search to the end says of a row, and how many boxes it opened."""
    leaves, box = Leaves(model, row), legal_box(row.iloc[0], reference)
    if not narrow(box):
        return "none exists", 0
    inside = leaves.inside(box, np.arange(len(leaves.value)))
    number, opened, started = count(), 0, time.perf_counter()
    waiting = [(-leaves.bound(inside), next(number), box, inside)]
    while waiting and time.perf_counter() - started < seconds:
        bound, _, box, inside = heapq.heappop(waiting)
        if -bound < 0:
            return "none exists", opened
        opened += 1
        if len(inside) == len(np.unique(leaves.tree[inside])):
            return "one may exist", opened
        at, end = choose_split(leaves, box, inside)
        for side in (0, 1):
            part = box[0].copy(), box[1].copy()
            part[1 - side][at] = end if side == 0 else np.nextafter(end, np.inf)
            if narrow(part):
                left = leaves.inside(part, inside)
                if leaves.bound(left) >= 0:
                    heapq.heappush(waiting, (-leaves.bound(left), next(number), part, left))
    return ("one may exist" if waiting else "none exists"), opened


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0, help="for a row")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    table, target, _ = read_table("ciciot2023")
    order = np.random.default_rng(0).permutation(len(table))
    reference, held = table.iloc[order[:6000]].reset_index(drop=True), table.iloc[order[6000:]]
    model = fit("boosted", reference, target[order[:6000]])
    rows = held[model.predict(held) == 1][: asked.rows].reset_index(drop=True)
    pack = cp.security.flow_rules(cp.Schema.infer(reference), reference)
    explainer = cp.Explainer(model, reference=reference, constraints=pack.constraints, new_categories=True)
    found = explainer(rows, target=0, proof=False, alternatives=1)
    lost = np.flatnonzero(~found.valid)
    print(f"{found.valid.sum()} of {len(rows)} have an answer")
    for place in lost.tolist():
        said, opened = look_for_way_out(model, rows.iloc[[place]], reference, asked.seconds)
        print(f"row {place}: {said}, {opened} boxes", flush=True)


if __name__ == "__main__":
    main()
