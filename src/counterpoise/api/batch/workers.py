"""Rows cut into chunks; on several cores these go to worker processes, which load the explainer once."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import ceil
from pathlib import Path
from typing import Any

import pandas as pd

from counterpoise.api.batch.finished import answer_alone
from counterpoise.api.batch.rejected import OnError
from counterpoise.errors import InputError, ModelError
from counterpoise.explanation.question import Question
from counterpoise.types import Index, is_whole_number


@dataclass(frozen=True)
class ChunkSettings:
    """How many rows are searched together; answers do not depend on it."""

    cells: int = 4_000_000
    """Rows x columns x chains worked on at once, which bounds the memory of a call,"""
    chains_per_row: int = 16
    """with so many chains taken for a row."""
    rows: int = 128
    """Rows at most: larger chunks make rows no cheaper, and lose more when a run is interrupted."""
    firm_rows: int = 64
    """The same for firm answers."""
    slow_rows: int = 32
    """The same for large trees, where a row takes a third of a second."""
    slow_tree_nodes: int = 300_000
    """Trees with more nodes than this are large."""
    call_rows: int = 0
    """Rows of every call of the model, filled up where there are fewer; 0: calls are as large as they come."""


_LOADED: dict[str, Any] = {}  # in a worker: the explainer of the file it was last asked for


def count_workers(n_jobs: object) -> int:
    """The number of processes that ``n_jobs`` stands for: -1 is one for each core, -2 leaves one core free.

    >>> count_workers(2), count_workers(None)
    (2, 1)
    """
    if n_jobs is None:
        return 1
    if not is_whole_number(n_jobs) or n_jobs == 0:
        raise InputError("n_jobs must be a whole number, not 0", f"{n_jobs!r}", "for instance 2, or -1 for all cores")
    count = int(n_jobs)
    return count if count > 0 else max(1, (os.cpu_count() or 1) + 1 + count)


@dataclass(frozen=True, eq=False)
class Workers:
    """Processes that answer chunks of rows: who answers, what is asked, what of rows that fail, and how many."""

    explainer: Any
    question: Question
    on_error: OnError
    count: int
    most_losses: int = 3  # how often a worker may be lost, as where memory runs out, before the run ends

    def chunk_rows(self, rows: int, most: int, per_worker: int = 4) -> int:
        """How many rows a chunk has: several chunks a worker, so that all of them end at about the same time."""
        return max(1, min(most, ceil(rows / (per_worker * self.count))))

    def answer(self, table: pd.DataFrame, chunks: Sequence[Index], targets: Any, budget: float | None) -> Iterator[Any]:
        """What was found for each of the chunks, in their order; a chunk is a list of places in the table.

        ``targets`` are those of the rows, or None where all have one. ``budget`` is in seconds, for all of them.
        """
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        done = lost = 0
        while done < len(chunks):
            try:
                for found in self._share_out(table, chunks, done, targets, budget):
                    done += 1
                    yield found
            except TerminatedWorkerError:  # what it was at is asked again, of new workers
                lost += 1
                if lost > self.most_losses:
                    raise ModelError(
                        "the worker processes must live until the rows are answered",
                        f"{lost} of them were ended from outside, which the system does where memory runs out",
                        "give fewer n_jobs, or less --memory",
                    ) from None

    def _share_out(
        self, table: pd.DataFrame, chunks: Sequence[Index], done: int, targets: Any, budget: float | None
    ) -> Iterator[Any]:
        """What was found for each of the chunks but the first ``done`` of them, in their order."""
        from joblib import Parallel, delayed, parallel_config

        folder = tempfile.mkdtemp(prefix="counterpoise-")
        file = Path(folder) / "explainer.pkl"
        try:
            file.write_bytes(_pack((self.explainer, dict(vars(self.question)), self.on_error)))
            share = None if budget is None else budget * min(1.0, self.count / len(chunks))

            def own_settings(rows: Index) -> dict[str, Any]:
                return {"budget": share} if targets is None else {"budget": share, "target": targets[rows]}

            with parallel_config(backend="loky", n_jobs=self.count, inner_max_num_threads=1):
                run = Parallel(return_as="generator", batch_size=1, pre_dispatch="2*n_jobs")
                yield from run(
                    delayed(answer_in_worker)(str(file), table.iloc[rows], own_settings(rows)) for rows in chunks[done:]
                )
        except BaseException:  # stopped: nobody waits for what the workers still do
            stop_workers()
            raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _find_cloudpickle() -> Any:
    """The pickler of joblib, which takes lambdas too: a package of its own, or, in earlier releases, a part of it."""
    try:
        return import_module("cloudpickle")
    except ImportError:
        return import_module("joblib.externals.cloudpickle")


def _pack(work: Any) -> bytes:
    """What workers need, as bytes; an error where a part of it cannot leave this process."""
    try:
        packed: bytes = _find_cloudpickle().dumps(work)
    except Exception as error:  # whatever the objects of others raise
        raise InputError(
            "model and question must be picklable, to be sent to other processes",
            f"{type(error).__name__}: {error}",
            "give n_jobs=1, or a function that opens the model when it is called",
        ) from error
    return packed


def answer_in_worker(file: str, table: pd.DataFrame, own_settings: Mapping[str, Any]) -> Any:
    """In a worker: answer some rows by the explainer in a file; gives what the run found."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    if file not in _LOADED:
        import pickle

        _LOADED.clear()
        _LOADED[file] = pickle.loads(Path(file).read_bytes())
    explainer, settings, on_error = _LOADED[file]
    question = Question(**{**settings, **own_settings})
    return answer_alone(explainer.start_run(table, question, time.perf_counter(), on_error))


def stop_workers() -> None:
    """End the worker processes at once."""
    from joblib.externals.loky import get_reusable_executor

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        get_reusable_executor().shutdown(wait=True, kill_workers=True)
