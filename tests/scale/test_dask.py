"""Dask: a real cluster of two processes, one of which is killed in the middle; the same bytes."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from counterpoise.scale import explain, explain_table
from scale.night import SETTINGS, alerts, explainer
from scale.test_same_bytes import as_bytes

distributed = pytest.importorskip("distributed")
frames = pytest.importorskip("dask.dataframe")

pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask's own, about ports and clocks


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=None
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


def test_two_machines_give_the_same_bytes(client: Any, tmp_path: Path) -> None:
    rows = alerts(40)
    wanted = as_bytes(explain_table(explainer(), rows, **SETTINGS))
    table = explain(explainer(), frames.from_pandas(rows, npartitions=5, sort=False), client=client, **SETTINGS)
    assert as_bytes(table.compute()) == wanted
    rows.to_parquet(tmp_path / "rows.parquet", row_group_size=10)
    made = explain(explainer(), tmp_path / "rows.parquet", client=client, out=tmp_path / "out", **SETTINGS)
    assert as_bytes(pd.read_parquet(tmp_path / "out")) == wanted
    assert (len(made), (tmp_path / "out" / "_SUCCESS").exists()) == (len(rows), True)


def test_a_killed_worker_costs_nothing(client: Any, tmp_path: Path) -> None:
    rows = alerts(40)
    data = frames.from_pandas(rows, npartitions=20, sort=False)
    victim = next(iter(client.run(os.getpid).values()))

    def kill_once_something_is_there() -> None:
        while not list((tmp_path / "out").glob("part-*")):
            time.sleep(0.005)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill_once_something_is_there)
    killer.start()
    explain(explainer(), data, client=client, out=tmp_path / "out", **SETTINGS)
    killer.join()
    assert as_bytes(pd.read_parquet(tmp_path / "out")) == as_bytes(explain_table(explainer(), rows, **SETTINGS))
    assert len(list((tmp_path / "out").glob("part-*"))) == 20
    assert not list((tmp_path / "out").glob(".partial*"))
