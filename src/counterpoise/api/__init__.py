"""The stages of one call: rows and targets in, search, verification, an Explanation out; and its replay later."""

from counterpoise.api.explainer import Explainer
from counterpoise.api.one_call import explain

__all__ = ["Explainer", "explain"]
