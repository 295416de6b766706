"""DiCE (Mothilal, Sharma, Tan 2020): its two model-agnostic methods that search beyond the rows, its gradient."""

from __future__ import annotations

import random
from importlib.metadata import version
from typing import Any

import dice_ml
import numpy as np
import pandas as pd
from raiutils.exceptions import UserConfigValidationException
from task import Task

from peers.runner import Counted, Made, Method, serve

DECIMALS = 6  # of the columns where DiCE cannot tell


class Fronted:
    """The model as DiCE calls it, on frames."""

    def __init__(self, task: Task, counted: Counted) -> None:
        self.task, self.count_support = task, counted

    def predict_proba(self, table: pd.DataFrame) -> np.ndarray:
        return self.count_support(self.task.codes(table[self.task.names]))

    def predict(self, table: pd.DataFrame) -> np.ndarray:
        return self.predict_proba(table).argmax(axis=1)


def frame(task: Task, x: np.ndarray) -> pd.DataFrame:
    return task.table(x) if task.categories else pd.DataFrame(x, columns=task.names)


def unreadable(column: pd.Series) -> bool:
    """DiCE counts decimals after the point of the printed mode, and stops at one such as 1e-06."""
    return column.dtype == np.float64 and any("." not in str(mode) for mode in column.mode())


def model_of(task: Task, counted: Counted, method: str) -> dice_ml.Model:
    """The model as DiCE takes it: a callable on frames; for its gradient, in torch on columns from 0 to 1."""
    if method != "gradient":
        return dice_ml.Model(model=Fronted(task, counted), backend="sklearn")
    import torch

    from peers.torch_model import Network

    class Probability(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            low = task.train.min(axis=0)
            self.network = Network(task, counted, low, task.train.max(axis=0) - low)

        def forward(self, z: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(self.network(z)).float()

    torch.set_num_threads(1)
    torch.manual_seed(0)
    return dice_ml.Model(model=Probability(), backend="PYT", func="ohe-min-max")


def dice(method: str) -> Made:
    def make(task: Task, counted: Counted) -> Method:
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
        explainer = dice_ml.Dice(data, model_of(task, counted, method), method=method)

        def answer_of(example: Any) -> np.ndarray:
            found = example.final_cfs_df_sparse if example.final_cfs_df_sparse is not None else example.final_cfs_df
            if found is None or not len(found):
                return np.full(len(task.names), np.nan)
            return task.codes(found[task.names].iloc[:1])[0]

        def one(row: np.ndarray) -> np.ndarray | None:
            # the default of the gradient, a linear search for cells to set back, takes minutes a row
            more = {"posthoc_sparsity_algorithm": "binary"} if method == "gradient" else {}
            asked = frame(task, row[None])  # many rows are gone through one by one: a batch would save nothing
            try:
                found = explainer.generate_counterfactuals(asked, total_CFs=1, desired_class="opposite", **more)
            except UserConfigValidationException:  # its way of saying that there is none
                return None
            answer = answer_of(found.cf_examples_list[0])
            return None if np.isnan(answer).any() else answer

        return Method(one)

    return make


if __name__ == "__main__":
    methods = {f"dice-{method}": dice(method) for method in ("random", "genetic", "gradient")}
    serve(methods, f"dice-ml {version('dice-ml')}")
