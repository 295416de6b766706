"""Figures: one function each, ``(result, ax=None) -> Axes``; without an ``ax`` a new figure is made.

Colours can be told apart by colour-blind readers, and text takes the colours of the current matplotlib style, so that a
figure is legible on light and on dark ground.
"""

from counterpoise.show.figures.coordinates import parallel
from counterpoise.show.figures.counts import frequency
from counterpoise.show.figures.crossing import boundary
from counterpoise.show.figures.curves import frontier, robustness, sensitivity, trajectory
from counterpoise.show.figures.lanes import changes
from counterpoise.show.figures.terrain import landscape

__all__ = [
    "boundary",
    "changes",
    "frequency",
    "frontier",
    "landscape",
    "parallel",
    "robustness",
    "sensitivity",
    "trajectory",
]
