"""Basins: the graph of neighbours between valid points, the minima on it, and the barriers between them."""
