"""How the model rows that each row may take are shared out: among search, checks of the answers, and noisy copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from counterpoise.api.asking.steadiness import DEFAULT_ASKING, Steadiness
from counterpoise.errors import InputError
from counterpoise.explanation.question import Question
from counterpoise.model_calls import RowBudget
from counterpoise.models.goals import Goal, ThresholdGoal
from counterpoise.types import Model

Stage: TypeAlias = Literal["first search", "second search", "kept"]


@dataclass(frozen=True)
class RowShares:
    """What a limited number of model rows is spent on; what is left after checks and copies is for searches."""

    kept: float = 1 / 3
    """Of all model rows, the most that the share kept may take where nobody asked for it,"""
    fresh_copies: float = 0.2
    """and the most that the fresh copies may take that a firm answer is verified on."""
    first_search: float = 0.4
    """Of those for searches, what finds the least change where a firm answer is then sought from it,"""
    first_answer: float = 0.7
    """and what finds the first answer where there are to be alternatives."""
    least_search: int = 8
    """Model rows below which a search of a row makes no sense."""


class RowPlan(NamedTuple):
    """Up to how many model rows of each row may be spent at the end of each stage, counted from the first one.

    The same for every row, whatever it spends, so that a row alone is answered as in a batch.
    """

    first_search: int  # the least change, or the first answer
    second_search: int  # the alternatives, or the firm answer
    checks: int  # verification of what was found
    judgement: int  # of them, what it takes to verify one answer
    kept_copies: int  # noisy copies on which the share kept of each answer is measured; 0: it is not
    fresh_copies: int  # and those that firm answers are verified on

    def begin(self, stage: Stage, budget: RowBudget, later: int = 0) -> None:
        """Let a stage of the work spend its part; ``later`` answers of each row are asked about copies after."""
        budget.check_limit, budget.judgement = self.checks, self.judgement
        if stage == "kept":
            budget.search_limit = budget.check_limit = budget.limit - self.kept_copies * later
        else:
            budget.search_start = 0 if stage == "first search" else self.first_search
            budget.search_limit = self.first_search if stage == "first search" else self.second_search


def plan_model_rows(
    question: Question,
    model: Model,
    goal: Goal,
    steadiness: Steadiness,
    kept_copies: int,
    fresh_copies: int,
    shares: RowShares = RowShares(),
) -> RowPlan:
    """The plan for a question with a limit of model rows, or an error where they do not last for a search.

    ``kept_copies`` and ``fresh_copies`` are noisy copies of an answer, at most.
    """
    limit, answers, stages = question.model_rows, question.alternatives, 1 + question.asks_for_firmness
    assert limit is not None, "a question without a limit needs no plan"
    asked = 1 + (isinstance(goal, ThresholdGoal) or (model.labels is None and model.predict_each is not None))
    judgement = asked  # how often the model is asked about a point before it counts as one that has the target
    if steadiness.changed:
        judgement = asked * DEFAULT_ASKING.askings
    elif not steadiness.is_plain:
        judgement = 2 * asked + 3  # and for its outputs, among others, in a call of one, and alone
    reported = 2 * (1 + answers) + asked  # outputs and probabilities of what is reported, and the row itself
    reported += 2 * asked * (1 + answers) if steadiness.needs_other_company else 0
    copies = kept_copies * answers * stages
    by_itself = question.kept == "auto" and not model.is_remote and copies <= shares.kept * limit
    copies = copies if question.kept is True or by_itself else 0
    fresh = min(fresh_copies, int(shares.fresh_copies * limit / (2 * asked))) if question.asks_for_firmness else 0
    again = 2 * asked + 1  # what other processes ask about the rows themselves once more
    checks = limit - again - 2 * stages * reported - copies - 2 * fresh * asked
    searches = checks - stages * (answers + 2) * judgement
    share = shares.first_search if question.asks_for_firmness else shares.first_answer if answers > 1 else 1.0
    if share * searches < shares.least_search:
        raise InputError(
            "model_rows must last for checking the answers of a row and for a search",
            f"{limit}, of which checks and noisy copies take {limit - searches}",
            "give more, or ask for less: one alternative, no keep, kept=False",
        )
    second = searches + (answers + 2) * judgement * (stages - 1)
    return RowPlan(int(share * searches), second, checks, judgement, kept_copies if copies else 0, fresh)
