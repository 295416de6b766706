"""LeafSettings: how much of an ensemble's leaves is tabulated, and how much of it is looked at together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LeafSettings:
    """Limits on memory and on the size of a batch; none changes what is found.

    few_trees: so few trees that a search jumps into their leaves.
    max_table_ranges: columns times leaves up to which a table of bits is made; beyond it a walk down the trees is
        quicker.
    max_ranges_of_few_trees: the same up to which few trees have the ranges of each leaf.
    max_table_bytes: size of the table, in bytes.
    max_block_bits: size of one block of the table, in bits; trees that split at other points share no cells.
    max_bits_together: bits of the table looked at together, so that they stay near the processor.
    max_path_columns_together: columns of all paths from the roots that are walked together.
    max_cells_together: cells of all points that are surveyed together.
    max_comparisons: values times split points up to which comparing all is quicker than a search by column.
    """

    few_trees: int = 12
    max_table_ranges: int = 2_000_000
    max_ranges_of_few_trees: int = 10_000_000
    max_table_bytes: int = 150_000_000
    max_block_bits: int = 80_000_000
    max_bits_together: int = 2_000_000
    max_path_columns_together: int = 1_000_000
    max_cells_together: int = 4_000_000
    max_comparisons: int = 100_000


DEFAULT_LEAF_SETTINGS = LeafSettings()
