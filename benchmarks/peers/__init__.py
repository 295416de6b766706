"""One runner a method, each executed in its own environment: ``python -m peers.nice FOLDER OUT SETTING …``."""
