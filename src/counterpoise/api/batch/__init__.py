"""Many rows: those that cannot be answered are set aside, the others are shared out among the cores."""
