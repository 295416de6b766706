"""Judging answers: robustness, stability, metrics, comparisons, and reviews of answers from elsewhere."""
