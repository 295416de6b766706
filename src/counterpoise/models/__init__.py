"""Fitted models as the search sees them: one adapter a file, and the table that finds the right one."""
