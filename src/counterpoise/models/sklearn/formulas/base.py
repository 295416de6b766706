"""What few formulas have."""

from __future__ import annotations

from counterpoise.models.layers import LayerOutputs


class FormulaBase:
    """A formula that is not made of layers.

    >>> FormulaBase().layers is None
    True
    """

    @property
    def layers(self) -> LayerOutputs | None:
        """None: no layers are known."""
        return None
