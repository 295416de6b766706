"""Groups of alerts with the same way out: the same features, moved the same way, to the same part of their range."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from counterpoise.explanation.cards.cards import direction_of
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.sentences import sort_by_size
from counterpoise.explanation.tables import Change

PARTS = ("low", "middle", "high")
WORDS = {"up": "higher", "down": "lower", "other": "another", "given": "a known"}


@dataclass(frozen=True)
class GroupSettings:
    """How alerts are grouped."""

    most: int = 10  # groups
    least_rows: int = 2  # of a group
    least_share: float = 0.01  # of all answered rows that a group has
    longest: int = 3  # changes that a group may share
    considered: int = 6  # the largest changes of a row that groups are made of
    quartiles: tuple[int, int] = (4, 6)  # places in `tables.QUANTILE_SHARES`: new values below, between and above


class Move(NamedTuple):
    """A change as a group shares it: the feature, its direction, and the part of the range that it leads to."""

    feature: str
    direction: str
    part: str  # low, middle, high among the reference rows; the new category


@dataclass(frozen=True, eq=False)
class AlertGroup:
    """Alerts that share moves; ``rows`` are their places in the explanation, in order."""

    moves: tuple[Move, ...]
    rows: tuple[int, ...]

    @property
    def title(self) -> str:
        """The moves in a few words, each with the part of the feature's range that it leads to.

        >>> AlertGroup((Move("hot", "down", "low"), Move("dur", "up", "")), (0, 4)).title
        'lower hot (to low), higher dur'
        """
        return ", ".join(map(_name_move, self.moves))


def _name_move(move: Move) -> str:
    if move.direction == "other":
        return f"{move.feature} becomes {move.part}"
    return f"{WORDS[move.direction]} {move.feature}" + (f" (to {move.part})" if move.part else "")


def group_alerts(explanation: Explanation, settings: GroupSettings = GroupSettings()) -> tuple[AlertGroup, ...]:
    """Groups of the rows with an answer that changes something, the largest first; a row is in one group at most.

    Greedy: each group is the set of moves that most rows without a group share, where a longer set counts for more.
    """
    moves = list_moves(explanation, settings)
    left = {row for row, row_moves in enumerate(moves) if row_moves}
    least = max(settings.least_rows, int(np.ceil(settings.least_share * len(left))))
    groups: list[AlertGroup] = []
    while len(groups) < settings.most:
        counts: Counter[tuple[Move, ...]] = Counter()
        for row in sorted(left):
            for size in range(1, settings.longest + 1):
                counts.update(combinations(sorted(moves[row]), size))
        shared = [(count * (1 + len(found)), found) for found, count in counts.items() if count >= least]
        if not shared:
            break
        best = max(shared, key=lambda each: (each[0], [tuple(map(str, move)) for move in each[1]]))[1]
        members = tuple(row for row in sorted(left) if set(best) <= set(moves[row]))
        groups.append(AlertGroup(best, members))
        left -= set(members)
    return tuple(sorted(groups, key=lambda group: -len(group.rows)))


def list_moves(explanation: Explanation, settings: GroupSettings = GroupSettings()) -> list[list[Move]]:
    """The moves of the largest changes of each row's best answer; none where no answer is valid."""
    out = []
    for row, changes in enumerate(explanation.changes_by_answer):
        largest = sort_by_size(changes[0])[: settings.considered] if explanation.valid[row] else []
        out.append([_make_move(explanation, row, change, settings) for change in largest])
    return out


def _make_move(explanation: Explanation, row: int, change: Change, settings: GroupSettings) -> Move:
    feature = explanation.schema.features[change.column]
    direction = direction_of(feature, change.before, change.after)
    if not feature.is_numeric:
        return Move(str(feature.name), direction, str(change.after))
    label = explanation.model_scores.after[row]
    levels: Any = explanation.quantiles.get(label, next(iter(explanation.quantiles.values()), None))
    if levels is None or change.after is None or np.isnan(levels[:, change.column]).any():
        return Move(str(feature.name), direction, "")
    low, high = (float(levels[place, change.column]) for place in settings.quartiles)
    value = float(change.after)
    return Move(str(feature.name), direction, PARTS[int(value >= low) + int(value > high)])


def share_grouped(groups: Sequence[AlertGroup], rows: int) -> float:
    """The share of so many rows that are in a group."""
    return sum(len(group.rows) for group in groups) / max(rows, 1)
