"""What every formula has, and most have not: weights, layers."""

from __future__ import annotations

from counterpoise.models.affine import AffineOutputs
from counterpoise.models.layers import LayerOutputs


class FormulaBase:
    """A formula that is neither affine nor made of layers."""

    @property
    def affine(self) -> AffineOutputs | None:
        """None: not known to be affine."""
        return None

    @property
    def layers(self) -> LayerOutputs | None:
        """None: no layers are known."""
        return None
