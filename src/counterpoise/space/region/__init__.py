"""The set of allowed points of each row, compiled from the constraints."""
