"""How the user's own model is asked about rows and answers: in which form, how often, and what its answer means."""
