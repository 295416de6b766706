"""Search of models with a slope."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterpoise.methods.settings.checked import Settings
from counterpoise.types import Array


@dataclass(frozen=True, repr=False)
class SmoothSettings(Settings):
    """Models with a slope: walks on spheres, Taylor steps, second-order steps, whole numbers."""

    walkers: int = 6
    """Walks of each row to the boundary."""
    walk_steps: int = 14
    """Steps of each walk; below 4 there are no walks."""
    first_step_share: float = 1.0
    """Length of the first step of a walk, a share of the radius of its sphere."""
    last_step_share: float = 0.02
    """Length of the last step."""
    radius_shrink_share: float = 0.2
    """Share by which a sphere shrinks while the target is reached, and grows while it is not."""
    starts_per_row: int = 6
    """Starts of each row, and best single-feature lines that are led on."""
    joint_starts_per_row: int = 3
    """Combinations of lines that are led on."""
    taylor_steps: int = 3
    """Taylor steps after walks or lines; 1 only scores the points."""
    taylor_steps_after_sweeps: int = 3
    """Taylor steps after sweeps."""
    swept_points_per_row: int = 3
    """Points of a row that are swept."""
    change_price_factors: tuple[float, ...] = (0.3, 1.0, 3.0, 10.0, 100.0)
    """What changes are taken to cost in Taylor steps from the row, over what they cost: one chain each."""
    columns_stepped_alone: int = 4
    """Features of each row, the steepest, that Taylor steps change alone."""
    max_left_out_rounds: int = 4
    """Times that a change of an answer is left out, and the others slid to make up for it; 0: never."""
    max_left_out_columns: int = 8
    """Changes that are tried so in each round, the smallest first."""
    max_changes_left_to_lines: int = 2
    """Answers of at most so many changes need no sweep after lines."""
    min_promised_distance_ratio: float = 0.4
    """An answer nearer than this share of what the slope at the row promised is searched further,"""
    max_promised_distance_ratio: float = 1.4
    """and so is one farther than this multiple."""
    difference_model_rows: int = 3000
    """Model rows that slopes by differences may take of a row."""
    difference_step_scales: float = 1e-3
    """Step of differences, in feature scales: far above rounding, also in single precision."""
    rounding_share: float = 1e-9
    """A difference below this share of the margin is rounding and no slope."""
    step_difference_share: float = 0.5
    """Two steps in a row between whole numbers follow a slope if they change the score by no more unlike shares."""
    boundary_slack_share: float = 1e-6
    """How far past the boundary a step aims, a share of the row's own margin."""
    shortfall_factor: float = 2.0
    """What a step under relations fell short of is added to the next aim so many times."""
    mu_factor: float = 2.0
    """mu of a step over the least that makes a minimum of E valid."""
    linearity_tolerance: float = 1e-9
    """Slopes that differ by less than this share are one slope: the score is linear."""
    max_descent_switches: int = 32
    """Single switches of categories that Taylor steps lead on from; 0: none."""
    fine_spacing_scales: float = 1e-3
    """Values nearer to each other than this, in feature scales, are not in the way of a linear score's one step."""
    coarse_spacing_share: float = 0.1
    """Values farther apart than this share of the answer's distance are tried, not rounded."""
    max_branch_columns: int = 8
    """Whole-number columns of an answer tried one value up and one down."""
    max_branch_rounds: int = 3
    """Times that this is done at most; 0: never."""
    branch_steps: int = 4
    """Taylor steps after each such trial."""
    max_black_box_branch_columns: int = 42
    """Columns of a black box up to which whole numbers are tried."""
    root_rounds: int = 24
    """Newton rounds of a Taylor step in L2 inside the box."""
    shrinkage_rounds: int = 4
    """Fixed-point rounds of the direction under a slight L1 penalty."""
    shrinkage_halvings: int = 40
    """Halvings of the same under a penalty that is not slight."""
    slight_penalty_share: float = 0.3
    """A penalty that takes less than this share off the length is slight."""
    hildreth_rounds: int = 10
    """Rounds of Hildreth's method for a step under relations."""
    active_set_rounds: int = 6
    """Times that such a step asks which relations bind."""
    repair_tolerance_share: float = 1e-3
    """Share of a step that repairing a relation may take back afterwards."""
    ridge_share: float = 1e-12
    """Ridge that lets relations which say the same be solved for."""
    facet_count_step: int = 8
    """Points are solved together whose numbers of binding relations round up to the same multiple of this."""
    reweighting_rounds: int = 12
    """Reweighting rounds of a step in L1 under relations."""
    weight_floor_share: float = 0.3
    """Share of the largest change that weights of small ones begin at."""
    zero_change_share: float = 0.001
    """Changes below this share of the largest are dropped."""
    min_alignment_l2: float = 0.9
    """Cosine of change and slope below which an L2 answer is no nearest point: it gets second-order steps."""
    min_alignment_l1: float = 0.4
    """The same in L1, by the dual norms."""
    max_hessian_columns: int = 100
    """Columns up to which second-order steps are taken; 0: never."""
    max_hessian_model_rows: int = 15_000
    """Model rows that all second-order steps of a row may take."""
    second_order_points: int = 2
    """Answers of a row that second-order steps lead on."""
    second_order_rounds: int = 8
    """Second-order steps of each."""
    second_order_lengths: int = 5
    """Lengths of each second-order step that are tried, each half of the one before."""
    second_order_gain_share: float = 1e-4
    """Second-order steps that gain less than this share are the last."""
    hessian_step_scales: float = 1e-3
    """Feature scales between the points whose slopes make the Hessian,"""
    rough_hessian_step_scales: float = 0.03
    """and the same where slopes are differences themselves."""
    multiplier_halvings: int = 60
    """Halvings of the multiplier of a second-order step."""
    edge_rounds: int = 3
    """Times that columns which left the box are held at its edge."""

    @cached_property
    def second_order_shares(self) -> Array:
        """Shares of a second-order step that are tried, ``(second_order_lengths, 1)``."""
        return np.asarray(0.5 ** np.arange(self.second_order_lengths)[:, None])
