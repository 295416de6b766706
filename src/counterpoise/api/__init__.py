"""The stages of one call: intake, aim, search, verification, report."""

from counterpoise.api.explainer import Explainer, explain

__all__ = ["Explainer", "explain"]
