"""A few hundred random questions: no answer called valid is refuted, no constraint broken, nothing crashes or hangs.

`make fuzz` asks many more. A failure names the seed that repeats it alone.
"""

import pytest

from fuzz.draw import run_draw
from fuzz.known import known_reason

BLOCKS, DRAWS = 20, 14


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_answer_is_refuted_no_constraint_broken_and_nothing_crashes(block):
    for seed in range(block * DRAWS, (block + 1) * DRAWS):
        outcome = run_draw(seed)
        new = outcome.failures and not known_reason(outcome)
        assert not new, f"make fuzz SEED={seed}\n" + "\n".join([*outcome.failures, outcome.said])


@pytest.mark.parametrize(
    "seed",
    [
        200030,  # a network whose sums are rounded otherwise where a frame has its columns side by side
        301794,  # a linear model of categories alone
        301656,  # an answer that was verified, of a row that was taken for proven to have none
        210359,  # a derived value that was set back to the row's, within its tolerance
        821357,  # a vote of a linear model among others, whose sums round otherwise in other company
        601872,  # a derived value that Integer rounded
        1002295,  # outputs that are rounding alone
        1201106,  # the same, of a linear model
        1202249,  # a derived value beyond its dtype
    ],
)
def test_what_once_failed_fails_no_more(seed):
    outcome = run_draw(seed, edition=1)
    assert not outcome.failures, "\n".join([*outcome.failures, outcome.said])


@pytest.mark.parametrize(
    "seed",
    [
        3000057,  # a surrogate of a number that was asked about the model's own outputs
        3000353,  # a curvature that is no number
        3002232,  # a function that allows a row by digits that the search rounds away
        3010032,  # the same, where a file calls the column continuous
        3030076,  # sums that round otherwise in calls of two or three rows alone
        3020209,  # a distance that counts changes, with its penalty taken away again and again
        3002322,  # ways out of which no minimum is valid
        3002325,  # a derived value beyond the dtype of its column, shown to the model in a search
        3002388,  # numbers between whole ones, in a column of a nullable dtype that a file calls continuous
        3000187,  # a program with a column whose spread is near the smallest number there is
        4400534,  # a model that is sure of two classes at once, far out
        4300434,  # no model rows left to check any answer with
        3200289,  # a derived value near enough for its rule, past a threshold of a tree
        3202692,  # a point so many units out that no neighbour of it can be looked up
        4000730,  # random search in a column that has no value at all
    ],
)
def test_what_once_failed_in_the_second_edition_fails_no_more(seed):
    outcome = run_draw(seed, edition=2)
    assert not outcome.failures, "\n".join([*outcome.failures, outcome.said])


def test_most_draws_are_answered():
    """A fuzzer whose questions are refused finds nothing."""
    outcomes = [run_draw(seed) for seed in range(40)]
    assert sum(outcome.sort != "refused" for outcome in outcomes) >= 28
    assert sum(outcome.claims for outcome in outcomes) >= 40
