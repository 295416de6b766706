"""Metropolis chains over valid points."""
