"""The errors a wrong question ends in, in one grammar: what must hold; what was given; what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from counterpoise.plain_text import escape_controls


def name_kind(given: object) -> str:
    """The class of what was given, with its article, for a message.

    >>> name_kind("rows.csv"), name_kind([]), name_kind(KeyError()), name_kind(None)
    ('a text', 'a list', 'a KeyError', 'None')
    """
    if given is None:
        return "None"
    if isinstance(given, type):
        return f"the class {given.__name__}"
    return "a text" if isinstance(given, str) else with_article(type(given).__name__)


def with_article(name: str) -> str:
    """A name after "a" or "an".

    >>> with_article("Ensemble"), with_article("Frontier")
    ('an Ensemble', 'a Frontier')
    """
    return f"{'an' if name[:1].lower() in tuple('aeio') else 'a'} {name}"


class CounterpoiseError(Exception):
    """Root of every error raised here; keeps the three parts of its message and what was found as attributes.

    must: what must hold.
    given: what was given instead.
    todo: what to do about it.
    found: what was found, kept as attributes of the error.

    >>> error = CounterpoiseError("rows must be finite", "'latency' is inf in row 3", "clean the row", row=3)
    >>> print(error)
    rows must be finite; 'latency' is inf in row 3; clean the row
    >>> error.todo, error.row
    ('clean the row', 3)
    """

    def __init__(self, must: str, given: str, todo: str, **found: Any) -> None:
        super().__init__(must, given, todo)  # all three in args, so that the error can cross a process boundary
        self.must = must
        self.given = given
        self.todo = todo
        vars(self).update(found)

    def __str__(self) -> str:
        return escape_controls(f"{self.must}; {self.given}; {self.todo}", keep="\n")


class InputError(CounterpoiseError, ValueError):
    """Rows, a reference, a schema, a target or a setting that cannot be worked with.

    must, given, todo, found: as for `CounterpoiseError`.
    """


class ConstraintError(CounterpoiseError, ValueError):
    """Constraints that contradict each other, or name what is not there.

    must, given, todo, found: as for `CounterpoiseError`.
    """


class CapabilityError(CounterpoiseError, TypeError):
    """A model was asked for something that it cannot do, such as a gradient of a forest.

    must, given, todo, found: as for `CounterpoiseError`.
    """


class ModelError(CounterpoiseError, RuntimeError):
    """The user's model raised, or answered with something that is not a prediction.

    ``row`` is the position of the first row that caused it, ``partial`` the Explanation of the rows that were finished;
    each is None where there is none. The model's own exception is the ``__cause__``.

    must, given, todo, found: as for `CounterpoiseError`.
    row: the position of the first row that caused it, from 0, or None.
    partial: the Explanation of the rows that were finished, or None.

    >>> ModelError("a score must be a number", "row 4 got NaN", "check the model on that row", row=4).row
    4
    """

    def __init__(
        self, must: str, given: str, todo: str, *, row: int | None = None, partial: Any = None, **found: Any
    ) -> None:
        super().__init__(must, given, todo, **found)
        self.row = row
        self.partial = partial


class Interrupted(CounterpoiseError):
    """A run was stopped from outside; ``partial`` is the Explanation of the rows that were finished, or None.

    must, given, todo, found: as for `CounterpoiseError`.
    partial: the Explanation of the rows that were finished, or None.
    """

    def __init__(self, must: str, given: str, todo: str, *, partial: Any = None, **found: Any) -> None:
        super().__init__(must, given, todo, **found)
        self.partial = partial


class MissingExtra(CounterpoiseError, ImportError):
    """An optional package is not installed; the message gives the line that installs it.

    extra: the name of the extra, as in ``pip install 'counterpoise[plots]'``.

    >>> print(MissingExtra("plots"))
    this needs the extra 'plots'; it is not installed; run: pip install 'counterpoise[plots]'
    """

    def __init__(self, extra: str) -> None:
        super().__init__(
            f"this needs the extra {extra!r}", "it is not installed", f"run: pip install 'counterpoise[{extra}]'"
        )
        self.extra = extra

    def __reduce__(self) -> tuple[Callable[[str], MissingExtra], tuple[str]]:
        return MissingExtra, (self.extra,)
