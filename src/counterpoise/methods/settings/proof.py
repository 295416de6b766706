"""What steers a proof."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoise.errors import InputError
from counterpoise.methods.settings.checked import show_changed_fields
from counterpoise.methods.settings.linear import DEFAULT_LINEAR, LinearSettings
from counterpoise.methods.settings.networks import DEFAULT_NETWORKS, NetworkSettings
from counterpoise.types import is_number, is_whole_number


@dataclass(frozen=True, repr=False)
class ProofSettings:
    """Limits of a proof, a row; they count work, never time, so that answers do not depend on the machine.

    >>> ProofSettings(nodes=10_000).nodes
    10000
    """

    nodes: int = 1000  # boxes that are opened at most
    nodes_at_first: int = 1000  # boxes of each row before any row is given more
    visits: int = 500_000_000  # trees of boxes that are looked at, at most
    waiting: int = 2_000_000  # boxes that wait to be opened, at most
    first_together: int = 4  # boxes opened at once at first, the cheapest first,
    together: int = 128  # and later, when their number has doubled again and again
    joins: tuple[int, ...] = (5_000, 50_000)  # boxes after which it begins again with trees joined by twos, by fours, …
    joint_leaves: int = 64  # leaves that two trees which are joined have together at most
    worth_joining: float = 0.35  # share of what trees can add up to beyond what is needed that joining has to save
    joinable: int = 1_200  # leaves of a row beyond which its trees are not joined: all pairs of them are looked at
    repairs: int = 64  # boxes whose cheapest point breaks a relation: so many points are repaired, then the proof ends
    gap: float = 0.0  # the proof ends where the answer costs at most this share more than the bound
    linear: LinearSettings = DEFAULT_LINEAR  # of linear models
    networks: NetworkSettings = DEFAULT_NETWORKS  # of networks
    tolerance: float = 1e-9  # relative: an answer that is nearer by less is not looked for

    @classmethod
    def to_the_end(cls, gap: float = 0.0) -> ProofSettings:
        """No limit but memory: a proof that ends when nothing is left to look for, or by the clock of a budget."""
        linear, networks = (
            LinearSettings(
                boxes=10**12, boxes_with_relations=10**12, relation_rounds=20, program_nodes=10**9, program_rounds=50
            ),
            NetworkSettings.thorough(),
        )
        return cls(nodes=10**12, visits=10**18, repairs=10**6, gap=gap, linear=linear, networks=networks)

    def __repr__(self) -> str:
        return show_changed_fields(self)

    def __post_init__(self) -> None:
        for name in (
            "nodes",
            "nodes_at_first",
            "visits",
            "waiting",
            "first_together",
            "together",
            "joint_leaves",
            "joinable",
            "repairs",
        ):
            given = getattr(self, name)
            if not (is_whole_number(given) and given >= 1):
                raise InputError(f"{name} must be at least 1", f"{given!r}", "give a whole number")
        if not (isinstance(self.joins, tuple) and all(is_whole_number(count) and count >= 1 for count in self.joins)):
            raise InputError("joins must be numbers of boxes", f"{self.joins!r}", "for instance (5_000, 50_000)")
        for name in ("worth_joining", "gap", "tolerance"):
            given = getattr(self, name)
            if not (is_number(given) and 0 <= given < np.inf):
                raise InputError(f"{name} must be a number from 0 on", f"{given!r}", "a share, such as 0.01")


DEFAULT_PROOF = ProofSettings()
