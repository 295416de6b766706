"""Schema files."""
