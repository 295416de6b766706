"""The figures and tables of the paper, one file each: what is measured, and how it is drawn."""
