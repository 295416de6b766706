"""Where searches start."""

from __future__ import annotations

from dataclasses import dataclass

from counterpoise.methods.settings.checked import Settings


@dataclass(frozen=True, repr=False)
class StartSettings(Settings):
    """Where searches start: reference rows of the target, random jumps, values for missing cells."""

    reference_rows_tried_first: int = 48
    """Nearest reference rows of the target that are made feasible and tried first; 0: searches use none."""
    reference_rows_tried_next: int = 1000
    """Reference rows that are tried where none of the first keeps the target."""
    lending_reference_rows: int = 6
    """Reference rows whose features are taken one by one where only few may change."""
    reference_share_of_budget: float = 0.05
    """Share of a limited number of model rows that may be spent on the first of these reference rows."""
    starts_brought_nearer: int = 24
    """Starts of a row, the nearest, that are moved towards it, for models with neither slope nor known leaves."""
    start_sections: int = 8
    """Parts into which each of these ways is divided; 0: none is moved."""
    model_rows_per_start: int = 60
    """Model rows of a limited budget that each start is taken to cost, its sweeps included."""
    nearest_miss_starts: int = 120
    """Reference rows with the nearest scores that rows without an answer restart from; 0: no such restart."""
    far_effort_share: float = 0.5
    """A row whose answer costs more than this share of the nearest reference row restarts from reference rows."""
    length_doublings: int = 12
    """Doublings of the length of random jumps, for rows that no reference row serves."""
    unbounded_reach_scales: float = 8.0
    """How far random jumps look where a column has no bounds, in feature scales."""
    unbounded_scales: float = 1000.0
    """A bound farther than this from the row counts as none, in feature scales."""
    line_sections: int = 16
    """Points tried at once on the line from an answer to its row."""
    section_rounds: int = 2
    """Times that each of these lines is divided."""
    crossing_reference_rows: int = 256
    """Reference rows on the other side of a two-sided range that are looked at."""
    max_crossings: int = 6
    """Lines to such rows that are searched for where they cross the range."""
    crossing_halvings: int = 40
    """Halvings of each such line."""
    filling_reference_rows: int = 256
    """Reference rows whose quantiles missing cells are given."""
    fillings_per_cell: int = 5
    """Values that each missing cell is given."""
    max_filled_cells: int = 8
    """Missing cells of a row that are given values, one at a time."""
