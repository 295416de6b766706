"""Scikit-learn models as formulas with slopes."""
