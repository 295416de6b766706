"""What an ensemble says, in sentences and as a notebook card."""

from __future__ import annotations

from html import escape

import numpy as np

from counterpoise.landscape.row_ensemble import RowEnsemble


def describe_row(row: RowEnsemble, most: int = 8) -> str:
    """A paragraph about one row."""
    name = f"Row {row.label}, to {row.target}"
    if row.draws is None or row.basins is None:
        return f"{name}: no ensemble. {'; '.join(row.notes)}"
    table = row.importance()
    mean = float(row.draws.effort[..., 0].mean())
    lines = [f"{name}: effort {row.least_known:.3g} at least, {mean:.3g} on average at T = {row.T:.3g}"]
    for role in ("necessary", "optional"):
        mine = table[table["role"] == role]
        if len(mine):
            shares = ", ".join(
                f"{f} ({p:.2f} ± {e:.2f})"
                for f, p, e in zip(mine["feature"][:most], mine["p_change"], mine["p_error"], strict=False)
            )
            more = f" and {len(mine) - most} more" if len(mine) > most else ""
            lines.append(f"  {role}: {shares}{more}")
    idle = int((table["role"] == "idle").sum())
    if idle:
        lines.append(f"  idle: {idle} feature{'s' * (idle > 1)}, each changed in fewer than 5 of 100")
    lines.append(f"  {count_ways(row)}")
    lines += [f"  note: {note}" for note in row.notes]
    return "\n".join(lines)


def count_ways(row: RowEnsemble, least_share: float = 0.01) -> str:
    """How many separate ways out there are, and which is the widest; those below the least share are counted apart."""
    basins = row.basins
    assert basins is not None
    widest = int(np.argmax(basins.weight))
    count = max(int((basins.weight >= least_share).sum()), 1)
    rare = len(basins.weight) - count
    changes = row.describe_point(basins.x[widest])
    if count == 1:
        text = f"one way out: {changes}"
    else:
        ordinals = ("the least", "the second", "the third")
        which = ordinals[widest] if widest < 3 else f"the {widest + 1}th"
        share = f"{basins.weight[widest]:.0%} of the ensemble"
        text = f"{count} separate ways out; {which} is the widest, with {share}: {changes}"
    if not rare:
        return text
    known = "1 more is known, that holds" if rare == 1 else f"{rare} more are known, that hold"
    return f"{text}; {known} less than {least_share:.0%}{' each' * (rare > 1)}"


def describe_ways(row: RowEnsemble) -> list[str]:
    """Sentences without values: how many separate ways out, what must change, what is one choice among others."""
    if row.draws is None or row.basins is None:
        return []
    table = row.importance()
    lines = [count_ways(row)]
    for role, words in (("necessary", "must change"), ("optional", "one choice among others")):
        mine = table[table["role"] == role]
        if len(mine):
            shares = (f"{f} ({100 * p:.0f} of 100)" for f, p in zip(mine["feature"], mine["p_change"], strict=True))
            lines.append(f"{words}: {', '.join(shares)}")
    return lines if row.draws.has_converged else [*lines, "the sampling has not converged: shares are rough"]


def ensemble_card(row: RowEnsemble) -> str:
    """The row as a card of HTML."""
    style = "font-family:sans-serif;border:1px solid #8A8A8A;border-radius:6px;padding:8px 12px;margin:6px 0"
    title = escape(f"Row {row.label}, to {row.target}")
    if row.draws is None:
        return f'<div style="{style}"><b>{title}</b><br>{escape("; ".join(row.notes))}</div>'
    table = row.importance()
    lines = []
    for feature, share, error, role in zip(
        table["feature"], table["p_change"], table["p_error"], table["role"], strict=True
    ):
        if role != "idle":
            bar = f'<div style="background:#0072B2;height:8px;width:{100 * share:.0f}px"></div>'
            cells = (escape(str(feature)), bar, f"{share:.2f} ± {error:.2f}", role)
            lines.append("<tr>" + "".join(f'<td style="white-space:nowrap">{cell}</td>' for cell in cells) + "</tr>")
    notes = "".join(f"<br>{escape(note)}" for note in row.notes)
    return (
        f'<div style="{style}"><b>{title}</b><br>{escape(count_ways(row))}<table>{"".join(lines)}</table>{notes}</div>'
    )
