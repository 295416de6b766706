"""Models made of models: votes, stacks, calibration, thresholds."""
