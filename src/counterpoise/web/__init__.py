"""The workbench: a page on which a person moves a decision, served on this machine alone, and its notebook form."""
