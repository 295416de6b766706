"""The numbers that steer the default search, one frozen dataclass for each family of stages.

Each field has its sentence. `docs/reference/settings.md` says what other values cost. A repr shows the fields that
differ from their defaults.
"""
