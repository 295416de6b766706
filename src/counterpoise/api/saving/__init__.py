"""An explainer as a file and back, without pickle."""
