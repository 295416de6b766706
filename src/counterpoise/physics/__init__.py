"""The paper on arrays, one group of equations a file; knows no model, no frame and no library but numpy and scipy."""
