"""What steers the certified bounds of networks."""

from __future__ import annotations

from dataclasses import dataclass

from counterpoise.methods.settings.linear import LinearSettings

ONE_BOX = LinearSettings(boxes=1)


@dataclass(frozen=True)
class NetworkSettings:
    """How the radius of a certified ball is looked for."""

    first_share: float = 0.65  # of the effort of the answer, at which the radius begins
    halvings: int = 2  # balls that are looked at for each row, at most
    worth_halving: float = 0.36  # share of the radius that is left open
    tolerance: float = 1e-9  # relative: a bound so near to the radius holds it
    linear: LinearSettings = ONE_BOX  # for the linear problem that is left
    max_numbers_together: int = 2**22  # of the arrays made for rows and units at once

    @classmethod
    def thorough(cls) -> NetworkSettings:
        """Closer to the largest radius, and to the least effort in it."""
        return cls(first_share=1.0, halvings=10, worth_halving=1e-3, linear=LinearSettings(boxes=8))


DEFAULT_NETWORKS = NetworkSettings()
