"""What the answers of a part have in common, as its line in the manifest says it; and of all parts together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.fields import STATUSES_WITH_ANSWER
from counterpoise.show.overview import Frequency, Overview, build_overview
from counterpoise.space.schema.schema import Schema

COLUMNS = ("alternative", "status", "distance", "gap", "kept", "changed")  # that the summary reads of each part


def count_changes(explanation: Explanation) -> dict[str, Any]:
    """How many rows have each status, change each feature down, up or otherwise, and change so many features."""
    seen = build_overview(explanation)
    sizes = Counter(seen.change_counts.astype(int).tolist())
    return {
        "status": seen.status_counts,
        "features": {str(each.column): [each.down_count, each.up_count, each.other_count] for each in seen.features},
        "sizes": {str(size): sizes[size] for size in sorted(sizes)},
    }


def summarize_parts(folder: Path, lines: Iterable[Mapping[str, Any]], schema: Schema) -> Overview:
    """All rows of a folder at a glance, from the lines of its manifest and some columns of its parts."""
    lines = list(lines)
    statuses: Counter[str] = Counter()
    ways: dict[int, list[int]] = {}
    sizes: Counter[int] = Counter()
    columns: dict[str, list[Any]] = {"distance": [], "gap": [], "kept": []}
    for line in lines:
        changes = line["changes"]
        statuses.update(changes["status"])
        sizes.update({int(size): count for size, count in changes["sizes"].items()})
        for column, counts in changes["features"].items():
            before = ways.setdefault(int(column), [0, 0, 0])
            ways[int(column)] = [one + more for one, more in zip(before, counts, strict=True)]
        table = pd.read_parquet(folder / line["part"], columns=[f"cp_{name}" for name in COLUMNS])
        best = table[(table["cp_alternative"] == 0) & table["cp_status"].isin(STATUSES_WITH_ANSWER)]
        columns["distance"].append(best.loc[best["cp_changed"].fillna("") != "", "cp_distance"].to_numpy(np.float64))
        for name in ("gap", "kept"):
            columns[name].append(best[f"cp_{name}"].to_numpy(np.float64))
    features = [Frequency(column, schema.features[column].title, *counts) for column, counts in ways.items()]
    found = {name: np.concatenate([np.empty(0), *parts]) for name, parts in columns.items()}
    sizes = Counter({size: sizes[size] for size in sorted(sizes)})
    return Overview(
        row_count=sum(line["rows"] for line in lines),
        valid_count=sum(line["answered"] for line in lines),
        already_count=sum(line["answered"] for line in lines) - len(found["distance"]),
        status_counts=dict(statuses),
        features=tuple(sorted(features, key=lambda feature: (-feature.row_count, feature.column))),
        distances=found["distance"],
        change_counts=np.repeat(np.array(list(sizes), dtype=np.float64), list(sizes.values())),
        gaps=found["gap"],
        kept=found["kept"],
        seconds=sum(line["seconds"] for line in lines),
        model_rows=None,
    )
