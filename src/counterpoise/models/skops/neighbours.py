"""Checks of models that compare rows with stored ones: neighbours and centres of clusters.

Their predictions run in compiled code that trusts the sizes and the class codes that are stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

NEIGHBOUR_CLASSES = (
    *("_classification.KNeighborsClassifier", "_classification.RadiusNeighborsClassifier"),
    *("_regression.KNeighborsRegressor", "_regression.RadiusNeighborsRegressor"),
    *("_unsupervised.NearestNeighbors", "_lof.LocalOutlierFactor"),
    *("_graph.KNeighborsTransformer", "_graph.RadiusNeighborsTransformer"),
)
CENTRE_CLASSES = ("_kmeans.KMeans", "_kmeans.MiniBatchKMeans")


def check_stored_rows(part: Any) -> None:
    """A model of neighbours, if it is fitted: rows as wide as it says, and a known outcome for each of them."""
    fitted = vars(part)
    if "_fit_X" not in fitted:
        return
    rows = fitted["_fit_X"]
    tree = fitted.get("_tree")
    sizes = {fitted["n_samples_fit_"], rows.shape[0]} | (set() if tree is None else {tree.__getstate__()[0].shape[0]})
    if rows.ndim != 2 or rows.shape[1] != fitted["n_features_in_"] or sizes != {rows.shape[0]}:
        raise ValueError("a model of neighbours has rows of other sizes than it says")
    if "_y" not in fitted:
        return
    outcomes = np.asarray(fitted["_y"])
    if outcomes.shape[:1] != rows.shape[:1] or outcomes.ndim > 2:
        raise ValueError("a model of neighbours has outcomes for other rows")
    if "classes_" in fitted:
        listed = fitted["classes_"] if outcomes.ndim == 2 else [fitted["classes_"]]
        counts = [len(classes) for classes in listed]
        codes = outcomes.reshape(len(outcomes), -1)
        if (
            codes.dtype.kind not in "iu"
            or codes.shape[1] != len(counts)
            or not ((codes >= 0) & (codes < np.array(counts))).all()
        ):
            raise ValueError("a model of neighbours has classes that it does not list")


def check_centres(part: Any, max_threads: int = 1024) -> None:
    """A model of clusters, if it is fitted, has centres as wide as its rows, and asks for a sane number of threads."""
    fitted = vars(part)
    if "cluster_centers_" not in fitted:
        return
    centres = fitted["cluster_centers_"]
    if centres.ndim != 2 or centres.shape[1] != fitted["n_features_in_"] or not len(centres):
        raise ValueError("a model of clusters has centres of another size than its rows")
    if centres.dtype.kind != "f" or not 1 <= fitted.get("_n_threads", 1) <= max_threads:
        raise ValueError("a model of clusters has centres or threads that cannot be")


def check_merged_columns(part: Any) -> None:
    """Columns that were merged into clusters, if they were, have a cluster each: NumPy counts up to the highest."""
    fitted = vars(part)
    if "labels_" not in fitted:
        return
    labels, width = np.asarray(fitted["labels_"]), fitted["n_features_in_"]
    if labels.shape != (width,) or labels.dtype.kind not in "iu" or not ((labels >= 0) & (labels < width)).all():
        raise ValueError("a model of clusters puts columns into clusters that cannot be")


def check_jobs(part: Any, max_jobs: int = 1024) -> None:
    """A model does not ask for thousands of threads or processes."""
    jobs = vars(part).get("n_jobs")
    if jobs is not None and not (isinstance(jobs, (int, np.integer)) and abs(int(jobs)) <= max_jobs):
        raise ValueError(f"a model asks for {jobs!r} jobs")
