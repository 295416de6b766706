"""The command line's side of counterpoise.security: logs read from files, findings written to them."""
