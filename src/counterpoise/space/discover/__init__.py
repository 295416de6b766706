"""Relations that a table obeys, found in the data."""
