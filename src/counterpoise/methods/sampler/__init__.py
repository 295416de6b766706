"""Sampling of the Boltzmann law over the valid points of each row, and the graph of neighbours between them."""
