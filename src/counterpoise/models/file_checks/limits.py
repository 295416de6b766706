"""How much a model's file may say that it holds, before a library allots it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FileLimits:
    """Sizes that no fitted model reaches; a file that says more is refused unread."""

    classes: int = 100_000
    """Classes, targets, and trees in a round."""
    features: int = 10_000_000
    """Features of a booster."""
    parts: int = 1_000_000
    """Lists and objects of a JSON text; a longer one may have one for every 25 characters."""
    levels: int = 64
    """Lists and objects inside one another."""
    tree_depth: int = 10_000
    """Nodes on the way from the root of a tree to a leaf."""
    pickle_bytes: int = 16 * 2**20
    """The list of tensors in a file of PyTorch."""
    trial_seconds: float = 120.0
    """A trial in another process, most of which would go into importing the library."""


DEFAULT_LIMITS = FileLimits()
