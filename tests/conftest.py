"""Hypothesis for the whole suite: the same draws every time, and no test that depends on the clock."""

from hypothesis import settings

settings.register_profile("gate", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("gate")
