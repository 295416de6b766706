"""Skops files whose arrays and numbers were altered at random: none ends the process that opens it and predicts."""

import io
import json
import os
import resource
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from sklearn.utils import all_estimators

from counterpoise.errors import InputError
from counterpoise.models.files import load

skops = pytest.importorskip("skops.io")
from skops.io.exceptions import UnsupportedTypeException  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="children are forked, with the limits of Linux")

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
USUAL = (
    *("LogisticRegression", "RandomForestClassifier", "HistGradientBoostingClassifier", "KMeans", "MLPClassifier"),
    *("KNeighborsClassifier", "RadiusNeighborsClassifier", "GaussianNB", "SVC", "IsolationForest", "SplineTransformer"),
)
METHODS = ("predict", "predict_proba", "decision_function", "transform")
MEMORY_BYTES, SECONDS = 2**31, 8
REFUSED, RAN = 10, 0


def _estimators() -> dict[str, Any]:
    return dict(all_estimators())


def _fitted(made: Any) -> Any:
    """An estimator fitted in whatever way it can be, or None."""
    for rows, outcomes in ((X, Y), (np.abs(X), Y), (X, None)):
        try:
            return made().fit(rows, outcomes) if outcomes is not None else made().fit(rows)
        except Exception:  # each estimator has its own demands
            continue
    return None


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict) and value.get("__loader__") == "JsonNode":
        yield value
    for part in parts:
        yield from _nodes(part)


def _alter_array(rng: np.random.Generator, values: Any) -> Any:
    large = values.dtype.kind in "iuf" and values.dtype.itemsize > 2
    most = np.iinfo(values.dtype).max if values.dtype.kind in "iu" else 1e300
    ways = [
        lambda: values[: len(values) // 2],
        lambda: values[:0],
        lambda: values.T.copy(),
        lambda: values.reshape(-1),
        lambda: np.concatenate([values, values], axis=-1),
        lambda: values + values.dtype.type(10**6) if large else values,
        lambda: values - values.dtype.type(10**5) if large else values,
        lambda: np.full_like(values, most) if large else values,
        lambda: values.astype("float64" if values.dtype.kind in "iu" else "int64") if large else values,
    ]
    return ways[int(rng.integers(len(ways)))]()


def _altered(rng: np.random.Generator, data: bytes) -> bytes:
    """The file with one or two of its arrays or numbers altered."""
    with ZipFile(io.BytesIO(data)) as archive:
        schema = json.loads(archive.read("schema.json"))
        parts = {name: archive.read(name) for name in archive.namelist() if name != "schema.json"}
    numbers = list(_nodes(schema))
    for _ in range(int(rng.integers(1, 3))):
        if parts and rng.random() < 0.75:
            name = sorted(parts)[int(rng.integers(len(parts)))]
            try:
                stream = io.BytesIO()
                np.save(stream, _alter_array(rng, np.load(io.BytesIO(parts[name]), allow_pickle=False)))
                parts[name] = stream.getvalue()
            except (ValueError, TypeError, IndexError, AttributeError, np.exceptions.AxisError):  # no such array
                continue
        elif numbers:
            node = numbers[int(rng.integers(len(numbers)))]
            if isinstance(json.loads(node["content"]), (int, float)):
                node["content"] = json.dumps([-1, 0, 10**6, 1e300, 2**62, None][int(rng.integers(6))])
    stream = io.BytesIO()
    with ZipFile(stream, "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))
        for name, part in parts.items():
            archive.writestr(name, part)
    return stream.getvalue()


def _outcome(path: Path) -> int:
    """What a child that opens a file and predicts ends with; a signal counts below zero."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        memory = pages * resource.getpagesize() + MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        spent = resource.getrusage(resource.RUSAGE_SELF)
        seconds = int(spent.ru_utime + spent.ru_stime) + SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        try:
            model = load(path)
        except InputError:
            os._exit(REFUSED)
        except BaseException:
            os._exit(REFUSED + 1)
        for method in METHODS:
            try:
                getattr(model, method)(X[:5])
            except BaseException:  # an error is an answer; only the end of the process is none
                continue
        os._exit(RAN)
    _, status = os.waitpid(child, 0)
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _find_crashes(names: Any, draws: int, folder: Path) -> tuple[list[str], int]:
    crashes, refused, path = [], 0, folder / "altered.skops"
    made = _estimators()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            rng = np.random.default_rng(sum(name.encode()))
            model = _fitted(made[name])
            if model is None:
                continue
            try:
                data = skops.dumps(model)
            except UnsupportedTypeException:  # Birch: no file of it can be made
                continue
            for draw in range(draws):
                path.write_bytes(_altered(rng, data))
                ended = _outcome(path)
                refused += ended == REFUSED
                if ended not in (RAN, REFUSED):
                    said = signal.Signals(-ended).name if ended < 0 else "an error of another kind"
                    crashes.append(f"{name}, draw {draw}: {said}")
    return crashes, refused


def test_no_altered_file_of_a_usual_model_ends_the_process(tmp_path: Path) -> None:
    crashes, refused = _find_crashes(USUAL, 5, tmp_path)
    assert not crashes
    assert refused > 5


@pytest.mark.long
def test_no_altered_file_of_any_estimator_does(tmp_path: Path) -> None:
    crashes, _ = _find_crashes(_estimators(), 25, tmp_path)
    assert not crashes
