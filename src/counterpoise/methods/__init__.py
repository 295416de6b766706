"""Searchers. Every one is a Method: ``(problem, streams) -> Run``, under the same region, model and energy."""
