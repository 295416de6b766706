"""Figures: one function each, ``(result, ax=None) -> Axes``; without an ``ax`` a new figure is made.

Colours can be told apart by colour-blind readers, and text takes the colours of the current matplotlib style, so that a
figure is legible on light and on dark ground.
"""

from counterpoise.show.figures.boundary import boundary
from counterpoise.show.figures.changes import changes
from counterpoise.show.figures.disconnectivity import disconnectivity
from counterpoise.show.figures.frequency import frequency
from counterpoise.show.figures.frontier import frontier
from counterpoise.show.figures.importance import importance
from counterpoise.show.figures.landscape import landscape
from counterpoise.show.figures.parallel import parallel
from counterpoise.show.figures.robustness import robustness
from counterpoise.show.figures.sensitivity import sensitivity
from counterpoise.show.figures.thermodynamics import thermodynamics
from counterpoise.show.figures.together import together
from counterpoise.show.figures.trajectory import trajectory

__all__ = [
    "boundary",
    "changes",
    "disconnectivity",
    "frequency",
    "frontier",
    "importance",
    "landscape",
    "parallel",
    "robustness",
    "sensitivity",
    "thermodynamics",
    "together",
    "trajectory",
]
