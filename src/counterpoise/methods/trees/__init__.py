"""Search of tree ensembles whose leaves are known."""
