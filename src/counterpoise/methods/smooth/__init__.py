"""Search of models with a slope: Taylor jumps, walks on spheres, second-order steps."""
