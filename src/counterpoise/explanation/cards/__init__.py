"""Cards: what people read of each row, for terminal, page and notebook."""
