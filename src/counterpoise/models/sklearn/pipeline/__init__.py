"""What the steps of a pipeline do to each column."""
