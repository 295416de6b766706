"""Three estimators of the free energy."""
