"""DiCE asked for several answers a row: ``python dice_sets.py FOLDER METHOD COUNT ROWS OUT``, in DiCE's environment."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import dice_ml
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from raiutils.exceptions import UserConfigValidationException
from task import Task

from peers.dice import DECIMALS, Fronted, frame, unreadable
from peers.runner import Counted


def main(folder: str, method: str, count: int, rows: int, out: str) -> None:
    task = Task.read(Path(folder))
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - DiCE draws from the global generators
    numbers = [name for name, numeric in zip(task.names, task.numeric, strict=True) if numeric]
    train = frame(task, task.train)
    data = dice_ml.Data(
        dataframe=train.assign(outcome=task.y),
        continuous_features=numbers,
        continuous_features_precision={name: DECIMALS for name in numbers if unreadable(train[name])},
        outcome_name="outcome",
    )
    model = dice_ml.Model(model=Fronted(task, Counted(task)), backend="sklearn")
    explainer = dice_ml.Dice(data, model, method=method)
    answers = np.full((rows, count, len(task.names)), np.nan)
    start = time.process_time()
    for place in range(rows):
        try:
            found = explainer.generate_counterfactuals(
                frame(task, task.rows[[place]]), total_CFs=count, desired_class="opposite"
            ).cf_examples_list[0]
        except UserConfigValidationException:  # its way of saying that there is none
            continue
        table = found.final_cfs_df_sparse if found.final_cfs_df_sparse is not None else found.final_cfs_df
        if table is not None and len(table):
            codes = task.codes(table[task.names].iloc[:count])
            answers[place, : len(codes)] = codes
    np.savez(out, answers=answers, seconds=time.process_time() - start)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
