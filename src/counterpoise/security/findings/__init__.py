"""Findings out: what is known of each alert, written as OCSF, ECS, STIX, Sigma or a ticket."""
