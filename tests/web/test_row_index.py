"""The list on disk: whatever is searched, filtered and sorted, it is what going through all lines gives."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from counterpoise.web.row_index import ListedRow, ListRequest, RowAnswer, RowIndex

COUNT = 60_000


@pytest.fixture(scope="module")
def rows() -> list[ListedRow]:
    rng = np.random.default_rng(0)
    verdicts = np.where(rng.random(COUNT) < 0.8, "attack", "benign").tolist()
    shares = rng.permutation(COUNT).tolist()
    return [
        ListedRow(place, f"r{place}", verdicts[place], float(shares[place]), words=f"r{place} {verdicts[place]} 100%_")
        for place in range(COUNT)
    ]


@pytest.fixture
def index(rows: list[ListedRow]) -> Iterator[RowIndex]:
    found = RowIndex()
    found.add(rows)
    found.sort_columns()
    yield found
    found.close()


@pytest.mark.parametrize("sort", ["place", "probability"])
@pytest.mark.parametrize(
    "search", ["", "attack", "R59", "00%_", "nothing"]
)  # of some, more lines match than are sorted
@pytest.mark.parametrize("verdict", ["", "attack", "benign", "neither"])
def test_a_list_is_what_going_through_all_lines_gives(
    index: RowIndex, rows: list[ListedRow], search: str, verdict: str, sort: str
) -> None:
    kept = [row for row in rows if search.lower() in row.words.lower() and verdict in ("", row.verdict)]
    for is_descending in (False, True):
        order = sorted(kept, key=lambda row: getattr(row, sort), reverse=is_descending)
        asked = {"search": search, "equal": {"verdict": verdict}, "sort": sort, "descending": is_descending}
        found = index.list_rows(ListRequest.read({**asked, "offset": 10, "limit": 20}))
        assert (found["matching"], found["total"]) == (len(kept), COUNT)
        assert [line["place"] for line in found["lines"]] == [row.place for row in order[10:30]]


def test_what_is_known_of_all_rows_follows_the_answers(index: RowIndex) -> None:
    rng, known = np.random.default_rng(1), dict[int, RowAnswer]()
    attack = index.list_rows(ListRequest.read({"equal": {"verdict": "attack"}}))["matching"]
    for _ in range(30):
        answers = [
            RowAnswer(
                int(place), str(rng.choice(["optimal", "bounded"])), 1.0, None, None, str(rng.choice(["", "a", "b"]))
            )
            for place in rng.integers(0, 50, 4)
        ]
        index.record(answers)
        known |= {each.place: each for each in answers}
        status, way = Counter(each.status for each in known.values()), Counter(each.way for each in known.values())
        for name, counts in (("status", status), ("way", way)):
            for text, count in counts.items():
                if text:
                    assert index.list_rows(ListRequest.read({"equal": {name: text}}))["matching"] == count
            wanted = [count for text, count in counts.most_common() if text]
            assert [counts[text] for text in index.list_values(name)] == wanted
        assert index.list_rows(ListRequest())["answered"] == len(known)
    assert index.list_rows(ListRequest.read({"equal": {"verdict": "attack"}}))["matching"] == attack
    assert index.list_values("verdict") == ["attack", "benign"]
