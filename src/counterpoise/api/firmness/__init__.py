"""Firmness: which noise answers should withstand, the share of copies that keep them, the search for firm ones."""
