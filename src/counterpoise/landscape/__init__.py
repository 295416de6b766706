"""The landscape of one decision: its energy on planes and lines through an answer, and the way of a search."""
