"""Rules between features: grammar, expressions, and how points are made to obey them."""
