"""Tree ensembles as arrays: splits, leaves, and what each leaf adds."""
