"""What steers the proofs of linear models."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LinearSettings:
    """How boxes are bounded and divided; limits count boxes, never time."""

    boxes: int = 256  # of a row that are opened at most, but for the last few together
    boxes_for_answers: int = 8  # of a row whose answer relations keep above what the bound, without them, can reach
    boxes_with_relations: int = 24  # of a row that are opened at most in each round that has relations as conditions
    boxes_at_first: int = 256  # of the first round, without relations; four times as many in each later one
    relation_rounds: int = 4  # times a row is proven, each with the relations as conditions that were broken before
    slack: float = 1e-9  # share of a condition by which an answer goes beyond it
    raises: int = 10  # times that a price is raised, 2, 4, 8, … times, until a point meets the condition
    halvings: int = 12  # of the interval that holds the best price, at most
    few_left: float = 0.5  # share of the boxes up to which those whose price is not found go on by themselves
    gain_tolerance: float = 1e-10  # relative: a point this little beyond a condition meets it
    newton_steps: int = 10  # towards the best prices of several conditions, at most
    newton_tolerance: float = 1e-7  # relative: a step that raises a bound by less is the last
    least_damping: float = 1e-3  # share of the full bend of a bound that is added to it, where steps succeed
    most_damping: float = 1e3  # beyond which no shorter step is tried
    rounds_after_climb: int = 1  # prices that are turned one after the other after that
    bracket: float = 0.1  # share of a price by which the other side of the best one is looked for
    bound_tolerance: float = 2e-9  # relative: a bound that can gain no more is the greatest
    price_tolerance: float = 1e-13  # relative width of the interval at which halving ends
    overshoot: float = 1e-3  # share of the interval by which a secant is overshot
    nudge: float = 1e-9  # relative: so near to a price at which columns are filled in turn, both sides are looked at
    optimal: float = 5e-7  # relative: an answer that costs so little more than the bound is the least
    condition_rounds: int = 24  # prices that are turned one after the other where there are several conditions
    condition_tolerance: float = 1e-8  # relative: conditions missed by less are met
    roots_together: int = 4  # boxes of a row opened at once
    search_above: float = 1e-3  # gap: a row that the proof leaves a larger one is searched as well
    program_nodes: int = 100  # of the search tree of a mixed-integer program, at most
    program_rounds: int = 3  # programs of a row, each with the fine grids of the columns that the last one used
    program_rounding: float = 1e-9  # relative: what rounding inside the solver may add to a bound
    solver_tolerance: float = 1e-6  # by which a solution of a program may miss a condition, relative to its slopes
    most_listed: int = 60  # listed values of a column that a program tells apart where no solution used it before
    most_counts: int = 100  # steps of a column beyond which a program heeds its grid only where one used it before
    max_waiting: int = 200_000  # boxes that wait to be opened, of all rows together


DEFAULT_LINEAR = LinearSettings()
