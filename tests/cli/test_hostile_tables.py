"""Tables that hold far more than their files should: refused, with little memory and time."""

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from counterpoise.cli.table_files import read_table
from hostile import is_refused, outcomes


def pack(path: Path, head: bytes, piece: bytes, times: int) -> Path:
    with gzip.open(path, "wb") as file:
        file.write(head)
        for _ in range(times):
            file.write(piece)
    return path


def test_a_table_cannot_take_much_memory_or_time(tmp_path: Path) -> None:
    rows = pd.DataFrame({"rate": np.zeros(4), "proto": list("abab")})
    rows.to_csv(tmp_path / "honest.csv", index=False)
    honest = [("table", tmp_path / "honest.csv")]
    packed = [
        pack(tmp_path / "rows.csv.gz", b"a,b\n", b"1,2\n" * 2**18, 1500),
        pack(tmp_path / "cell.csv.gz", b"a,b\n1,", b"x" * 2**20, 1500),
        pack(tmp_path / "blank.csv.gz", b"a,b\n", b"\n" * 2**20, 1500),
        pack(tmp_path / "rows.ndjson.gz", b"", b'{"a":1}\n' * 2**17, 1500),
    ]
    written = {
        "wide.csv": b"," * 3_000_000 + b"\n",
        "deep.ndjson": b'{"a":' + b"[" * 10**6,
        "digits.ndjson": b'{"a":' + b"9" * 10**6 + b"}",
        "keys.ndjson": "\n".join(json.dumps({f"k{n}": 1}) for n in range(20_000)).encode(),
        "cut.csv.gz": packed[0].read_bytes()[:50],
    }
    if pytest.importorskip("pyarrow"):
        from pyarrow import int64, parquet, schema, table

        rows.to_parquet(tmp_path / "honest.parquet")
        honest.append(("table", tmp_path / "honest.parquet"))
        data = (tmp_path / "honest.parquet").read_bytes()
        written |= {"cut.parquet": data[: len(data) // 2], "foot.parquet": data[:-8] + b"\xff\xff\xff\xffPAR1"}
        with parquet.ParquetWriter(tmp_path / "rows.parquet", schema([("a", int64())])) as writer:
            for _ in range(60):
                writer.write_table(table({"a": np.zeros(2**22, np.int64)}))
        packed.append(tmp_path / "rows.parquet")
    for name, content in written.items():
        (tmp_path / name).write_bytes(content)
    paths = [*packed, *(tmp_path / name for name in written)]
    for path, outcome in zip(paths, outcomes([("table", path) for path in paths], tmp_path, honest), strict=True):
        assert is_refused(outcome), (path.name, outcome)


def test_a_table_that_is_packed_is_read(tmp_path: Path) -> None:
    rows = pd.DataFrame({"rate": np.arange(1000.0), "proto": ["tcp", "udp"] * 500})
    rows.to_csv(tmp_path / "rows.csv.gz", index=False)
    assert read_table(str(tmp_path / "rows.csv.gz"), "--rows").equals(rows)
