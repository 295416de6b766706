"""Adapters of scikit-learn estimators."""
