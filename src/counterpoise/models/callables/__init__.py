"""Models that are functions, services or several models that must agree."""
