"""The paper, reproduced: every figure and table made by this code, beside what the paper claims."""

from counterpoise.paper.build import write

__all__ = ["write"]
