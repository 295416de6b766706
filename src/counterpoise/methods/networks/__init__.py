"""Networks: a certified effort below which no point can reach the target, by linear ceilings of the outputs."""
