"""The numbers at the top of a report."""

from __future__ import annotations

import numpy as np

from counterpoise.show.overview import Overview


def list_tiles(seen: Overview) -> list[tuple[str, str]]:
    """The numbers at the top of the page, and what each counts."""
    tiles = [(f"{seen.valid_count:,} of {seen.row_count:,}", "reach the target")]
    if len(seen.distances):
        tiles += [
            (f"{np.median(seen.change_counts):g}", "features changed, median"),
            (f"{np.median(seen.distances):.3g}", "standard deviations away, median"),
        ]
    tiles += _proof_tiles(seen)
    kept = seen.kept[~np.isnan(seen.kept)]
    tiles += [(f"{100 * np.median(kept):.0f}%", "of noisy copies keep it, median")] if len(kept) else []
    cost = "of work" if seen.model_rows is None else f"{seen.model_rows:,} rows asked of the model"
    return [*tiles, (_format_seconds(seen.seconds), cost)]


def say_cost(seen: Overview) -> str:
    """What the answers took, in a few words."""
    took = f"{seen.seconds:.3g} s" if seen.seconds < 1000 else f"{seen.seconds:,.0f} s"
    return took if seen.model_rows is None else f"{took}, {seen.model_rows:,} rows asked of the model"


def _proof_tiles(seen: Overview) -> list[tuple[str, str]]:
    """The share of answers that are proven to be the least, and how far above it the others can be."""
    if not len(seen.gaps) or np.isnan(seen.gaps).all():
        return []
    tiles = [(f"{100 * np.mean(seen.gaps == 0):.0f}%", "proven to be the least")]
    open_gap = seen.gaps[(seen.gaps > 0) & np.isfinite(seen.gaps)]
    return (
        [*tiles, (_format_gap(float(np.median(open_gap))), "above the bound, median of the rest")]
        if len(open_gap)
        else tiles
    )


def _format_seconds(seconds: float) -> str:
    """Seconds as people read them.

    >>> _format_seconds(1.234), _format_seconds(2345.6)
    ('1.2 s', '39 min')
    """
    return f"{seconds:.2g} s" if seconds < 99.5 else f"{seconds / 60:.0f} min"


def _format_gap(gap: float) -> str:
    """A gap as people read it: a share, or how many times, beyond a hundred times no number tells more.

    >>> _format_gap(0.31), _format_gap(4.2), _format_gap(6171.0)
    ('31%', '4.2 ×', 'over 100 ×')
    """
    return f"{100 * gap:.0f}%" if gap < 1 else f"{gap:.1f} ×" if gap <= 100 else "over 100 ×"
