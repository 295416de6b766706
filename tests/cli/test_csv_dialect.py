"""Text tables as programs export them: separators too many, encodings, and everything that was read before."""

import gzip
import io
import sys
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.cli.csv_dialect import read_delimited
from counterpoise.cli.table_files import read_table
from counterpoise.errors import InputError

TABLE = pd.DataFrame({"age": [44, 37, 20], "rate": [0.5, 1.25, 2.0], "name": ["é", "b", 'c "d"']})
ENDINGS = {",": "rows.csv", ";": "rows.csv", "\t": "rows.tsv"}


def _written(place: Path, lines: list[str], mark: str, **more: str) -> str:
    text = "".join(line.replace(",", mark) + "\n" for line in lines)
    (place / ENDINGS[mark]).write_bytes(text.encode(**more))
    return str(place / ENDINGS[mark])


@pytest.mark.parametrize("mark", ENDINGS)
@pytest.mark.parametrize("end", [",", ", "])
def test_a_separator_too_many_on_every_line_shifts_nothing(tmp_path: Path, mark: str, end: str) -> None:
    path = _written(tmp_path, ["a,b", f"1,2{end}", f"3,4{end}"], mark)
    assert read_table(path, "--rows").to_dict("list") == {"a": [1, 3], "b": [2, 4]}


@pytest.mark.parametrize("mark", ENDINGS)
def test_a_header_may_end_in_a_separator_too(tmp_path: Path, mark: str) -> None:
    path = _written(tmp_path, ["a,b,,", "1,2,,", "3,4,,"], mark)
    assert read_table(path, "--rows").to_dict("list") == {"a": [1, 3], "b": [2, 4]}


@pytest.mark.parametrize("mark", ENDINGS)
@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["a,b", "1,2,7", "3,4,"], "line 2 has 3 cells, the header 2"),
        (["a,b", "1,2,", "3,4"], "line 2 has 3 cells, the header 2"),
        (["a,b", "1,2", "", "3,4,"], "line 4 has 3 cells, the header 2"),
        (["a,b", "1,2,", "3,4,5"], "line 3 has 3 cells, the header 2"),
        (["a,b", "1,2,,", "3,4,,"], "line 2 has 4 cells, the header 2"),
        (["a,b", "r1,1,2", "r2,3,4"], "line 2 has 3 cells, the header 2"),
    ],
)
def test_a_line_wider_than_the_header_is_refused(tmp_path: Path, mark: str, lines: list[str], words: str) -> None:
    with pytest.raises(InputError) as refused:
        read_table(_written(tmp_path, lines, mark), "--rows")
    assert words in str(refused.value)


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
    st.integers(1, 3),
    st.booleans(),
)
def test_a_cell_is_never_in_another_column_than_where_it_stands(widths: list[int], names: int, full: bool) -> None:
    lines = [[f"{row}:{column}" for column in range(width)] for row, width in enumerate(widths)]
    lines = [line if full else [*line[:-1], ""] for line in lines]
    text = "\n".join(",".join(line) for line in [[f"n{column}" for column in range(names)], *lines])
    try:
        found = read_delimited(text.encode())
    except ValueError:
        assert max(widths) > names or not any("".join(line) for line in lines)
        return
    assert len(found.columns) == names
    seen = [line for line in lines if len(line) > 1 or line[0]]  # blank lines are none
    for line, cells in zip(seen, found.astype(object).to_numpy().tolist(), strict=True):
        for column, cell in enumerate(cells):
            wanted = line[column] if column < len(line) else ""
            assert (cell == wanted) if wanted else pd.isna(cell)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_text_says_itself_what_it_is_written_in(
    tmp_path: Path, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    TABLE.to_csv(tmp_path / "rows.csv", index=False, encoding=encoding, lineterminator="\r\n")
    raw = (tmp_path / "rows.csv").read_bytes()
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(raw))
    for name in ("rows.csv", "rows.csv.gz"):
        pd.testing.assert_frame_equal(read_table(str(tmp_path / name), "--rows"), TABLE)
    for piped in (raw, '{"age": 44}\n{"age": 37}'.encode(encoding)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped), encoding="ascii"))
        assert read_table("-", "--rows")["age"].tolist()[:2] == [44, 37]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("a,b\n1,x\n2,caf\xe9\n".encode("latin-1"), "line 3 has the byte 0xe9, which is not UTF-8"),
        ("caf\xe9,b\n1,x\n".encode("latin-1"), "line 1 has the byte 0xe9, which is not UTF-8"),
        ("a,b\n1,2\n".encode("utf-16-le"), "UTF-16 without a mark"),
        ("a,b\n1,2\n".encode("utf-16")[:-1], "utf-16"),
        (bytes(range(256)), "zero bytes"),
    ],
)
def test_an_encoding_that_is_not_known_is_the_trouble(tmp_path: Path, raw: bytes, words: str) -> None:
    (tmp_path / "rows.csv").write_bytes(raw)
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(raw))
    for name in ("rows.csv", "rows.csv.gz"):
        with pytest.raises(InputError) as refused:
            read_table(str(tmp_path / name), "--data")
        assert words in str(refused.value).lower() or words in str(refused.value)
        assert refused.value.todo == "save it as text in UTF-8"


def test_a_packed_file_that_was_cut_off_is_named(tmp_path: Path) -> None:
    packed = gzip.compress(TABLE.to_csv(index=False).encode() * 100)
    for name, raw in (("cut.csv.gz", packed[:-20]), ("odd.csv.gz", packed[:30] + b"\xff" * 9), ("no.csv.gz", b"a,b")):
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(InputError, match="cannot be read as csv"):
            read_table(str(tmp_path / name), "--rows")


def test_what_was_read_before_is_read(tmp_path: Path) -> None:
    texts = {
        "short": b"a,b,c\n1,2\n3,4,5\n",
        "quoted": b'"a","b"\n"1","2"\n',
        "quoted lines": b'a,b\n1,"x\ny"\n2,"u,v"\n',
        "index": b",a\n0,1\n1,2\n",
        "twice": b"a,a\n1,2\n",
        "one column": b"a\n1\n\n2\n",
        "a long cell": b"a,b\n1," + b"x" * 200_000 + b"\n",
    }
    for name, raw in texts.items():
        (tmp_path / "rows.csv").write_bytes(raw)
        found = read_table(str(tmp_path / "rows.csv"), "--rows")
        pd.testing.assert_frame_equal(found, pd.read_csv(io.BytesIO(raw)), obj=name)
    (tmp_path / "rows.csv").write_bytes(b"a;b\n1,5;x\n2,25;y\n")
    assert read_table(str(tmp_path / "rows.csv"), "--rows")["a"].tolist() == [1.5, 2.25]
    (tmp_path / "rows.tsv").write_bytes(b"a\tb\n1,234\tx\n")  # a thousand and more, or one and a bit: nobody knows
    assert read_table(str(tmp_path / "rows.tsv"), "--rows")["a"].tolist() == ["1,234"]
