"""Answers that withstand noise: those that keep a share of its copies, and those of least free energy."""
