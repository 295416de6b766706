"""What can be asked of an explanation once the model is at hand again."""
