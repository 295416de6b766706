"""Exact search over sums of trees: best-first branch and bound over boxes of leaves, with a bound at any time."""
