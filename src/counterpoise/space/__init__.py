"""Where a row may go: features, constraints, the region they make, and distances in it."""
