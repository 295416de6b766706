"""Triage: which alerts are likely false alarms, which stand, and which share a way out."""
