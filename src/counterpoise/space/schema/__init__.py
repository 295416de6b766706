"""Features, their schema, and tables turned into arrays."""
