"""Linear models: the least effort by branch and bound over Lagrangian bounds, many rows and boxes at once."""
