"""Search of models without a slope: each column tried alone, then the best changes together."""
