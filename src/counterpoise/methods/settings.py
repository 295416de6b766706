"""The numbers that steer the default search, one frozen dataclass for each family of stages.

Each field has its sentence. `docs/choices.md` says what other values cost. A repr shows the fields that differ from
their defaults.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from counterpoise.errors import InputError
from counterpoise.types import Array, Index, is_number


@dataclass(frozen=True, repr=False)
class Settings:
    """What all families share: numbers are checked when they are set, and the repr shows what is not the default."""

    def __post_init__(self) -> None:
        for each in fields(self):
            given = getattr(self, each.name)
            for number in given if isinstance(given, tuple) else (given,):
                whole = isinstance(each.default, int) and not isinstance(given, tuple)
                if not is_number(number) or not number >= 0 or (whole and number % 1):
                    raise InputError(
                        f"{each.name} must be {'a whole number' if whole else 'a number'} of at least 0",
                        f"{given!r}",
                        f"the default is {each.default!r}",
                    )

    def __repr__(self) -> str:
        return show_changed_fields(self)


def show_changed_fields(settings: Settings | SearchSettings) -> str:
    """The repr of settings: their fields that differ from the defaults."""
    changed = ((each.name, getattr(settings, each.name)) for each in fields(settings))
    told = [
        f"{name}={given!r}" for name, given in changed if given != type(settings).__dataclass_fields__[name].default
    ]
    return f"{type(settings).__name__}({', '.join(told)})"


@dataclass(frozen=True, repr=False)
class StartSettings(Settings):
    """Where searches start: reference rows of the target, random jumps, values for missing cells."""

    reference_rows_tried_first: int = 48
    """Nearest reference rows of the target that are made feasible and tried first; 0: searches use none."""
    reference_rows_tried_next: int = 1000
    """Reference rows that are tried where none of the first keeps the target."""
    lending_reference_rows: int = 6
    """Reference rows whose features are taken one by one where only few may change."""
    start_bisections: int = 6
    """Halvings of a start towards its row, for models with neither slope nor known leaves."""
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
    """Times that such a line is divided."""
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


@dataclass(frozen=True, repr=False)
class TrialSettings(Settings):
    """Models with neither slope nor known leaves, and few changes on any model: single changes, then combined."""

    sweeps: int = 14
    """Sweeps of a row at most: each tries every feature alone, then the best changes together."""
    max_columns_tried_alone: int = 300
    """Columns up to which each is tried alone; in wider tables that costs more than it finds."""
    single_changes_per_row: int = 3
    """Best single changes of a row that sweeps go on from."""
    values_tried_per_number: int = 32
    """Values tried alone of each number of a black box: half evenly within reach, half as the reference has them."""
    max_splits_tried_alone: int = 200
    """Split points up to which all of them are tried alone."""
    max_splits_tried_alone_for_l0: int = 2000
    """The same where the number of changes is penalised."""
    max_cells_swept_longer: int = 600
    """A model of fewer split points than this is swept more often, since it answers fast."""
    max_sweep_factor: int = 4
    """How many times as often at most."""
    source_sweep_points: int = 2
    """Answers of a row that are swept over columns which others are computed from; 0: only the row itself."""
    sweep_multipliers: int = 16
    """Prices of margin at which a sweep combines single changes: one combination each."""
    max_levels_per_sweep: int = 24
    """Levels of a category tried in one sweep."""
    max_change_distance: float = 30.0
    """How far a single change is tried where nothing bounds it, in units of distance."""
    min_sweeps_per_ration: int = 3
    """Sweeps that a limited number of model rows should last for."""
    sweeps_before_mixing: int = 5
    """Sweeps before points are mixed with other good points of their row."""
    resets_per_point: float = 1.2
    """Changes of a mixed point that are set back, on average."""
    ladder_rungs: int = 8
    """Points tried on the way of one feature to either edge of its range."""
    ladder_first_share: float = 0.004
    """Share of that way at which the first of them is."""
    ladder_subdivisions: int = 8
    """Parts into which the way between the last miss and the first hit is divided."""
    line_refinements: int = 2
    """Times that it is divided again where relations move other cells along."""
    range_halvings: int = 24
    """Halvings of a line that crosses a two-sided range."""
    max_line_switches: int = 256
    """Single switches of categories tried beside the lines."""
    coarse_spacing_scales: float = 0.02
    """Columns whose values are farther apart than this, in feature scales, are not rounded but tried."""
    min_gain_share: float = 1e-3
    """A fall of the effort by less than this share of it is no gain."""
    min_gain_scales: float = 5e-4
    """Neither is one by less than this, in units of distance."""

    @cached_property
    def ladder_shares(self) -> Array:
        """Shares of the way to the edge at which a feature is tried, ``(ladder_rungs,)``."""
        return np.geomspace(self.ladder_first_share, 1.0, self.ladder_rungs)

    @cached_property
    def subdivision_shares(self) -> Array:
        """Shares of the way between the last miss and the first hit."""
        return np.arange(1, self.ladder_subdivisions) / self.ladder_subdivisions


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


@dataclass(frozen=True, repr=False)
class TreeSettings(Settings):
    """Trees whose leaves are known: surveys of single changes, their combinations, jumps into leaves."""

    rounds: int = 14
    """Rounds of surveys of a row at most."""
    points_per_row: int = 12
    """Best points of each row that are kept, each with another set of changed features."""
    rounds_per_update: int = 8
    """Rounds whose points enter the best ones together."""
    max_leaves_of_small_model: int = 400
    """A model of at most so many leaves is surveyed to the end, and jumped into."""
    min_rounds_per_ration: int = 6
    """Rounds that a limited number of model rows should last for."""
    min_lacking_margin: float = 1e-6
    """Least margin that a row is taken to lack."""
    grid_size: int = 8
    """Prices of margin at which combinations are weighed first."""
    always_tried_grid_places: tuple[int, ...] = (0, 2, 4, 7)
    """Places of that grid that are tried whatever they gain."""
    target_gain_count: int = 8
    """Combinations that are to gain a set share of the missing margin,"""
    target_gain_least: float = 0.8
    """from this share"""
    target_gain_most: float = 2.0
    """to this one."""
    target_loss_most: float = 1.2
    """Points with margin to spare are to lose up to this share of it,"""
    target_loss_gain: float = 0.2
    """or to gain up to this share."""
    single_changes_tried: int = 3
    """Cheapest sufficient single changes of a point that are tried by themselves."""
    worst_loss_factor: float = 10.0
    """A change that loses more than this many times the missing margin is as bad as any other."""
    gain_tolerance: float = 1e-9
    """A gain below this share of the largest is none."""
    leaf_jumps_per_point: int = 16
    """Leaves that a point is moved into, on models of few trees or leaves."""
    sufficient_jumps_per_point: int = 4
    """Of them, the nearest that reach the target by themselves."""
    min_jump_rounds: int = 2
    """Rounds with jumps at least,"""
    max_jump_rounds: int = 8
    """and at most; 0 for both: no jumps."""
    jump_wall_budget: int = 20_000
    """Sides of leaf boxes that all rounds with jumps may look at."""

    @cached_property
    def grid_shares(self) -> Array:
        """Exponents of the ranks of the grid's prices, from the dearest to the cheapest."""
        return np.linspace(0, 1, self.grid_size)

    @cached_property
    def target_gain_shares(self) -> Array:
        """Shares of the missing margin that combinations are to gain."""
        return np.geomspace(self.target_gain_least, self.target_gain_most, self.target_gain_count)

    @cached_property
    def target_loss_shares(self) -> Array:
        """Shares of spare margin that combinations are to gain; those below 0 are lost."""
        return np.linspace(-self.target_loss_most, self.target_loss_gain, self.target_gain_count)

    @property
    def combinations(self) -> int:
        """Combinations of single changes that a survey tries of each point."""
        return len(self.always_tried_grid_places) + self.target_gain_count


@dataclass(frozen=True, repr=False)
class BatchSettings(Settings):
    """Sizes of the arrays that a search holds at once; they change speed and memory, never answers."""

    cells: int = 500_000
    """Numbers in the points that lines and sweeps try at once: more do not stay near the processor."""
    difference_cells: int = 4_000_000
    """Numbers in one batch of points shifted for differences."""
    survey_numbers: int = 1_000_000
    """Numbers that surveys of leaves hold at once."""
    pieces_per_tree: int = 32
    """Single changes that each tree is taken to add to those of a point."""
    listed_cells: int = 1_000_000
    """Nearest values of cells that are listed; beyond it they are looked up when needed."""
    near_cells: int = 200_000
    """Numbers in the nearest reference rows looked at together."""
    crossing_cells: int = 4_000_000
    """Numbers in the reference rows across a range looked at together."""


@dataclass(frozen=True, repr=False)
class PolishSettings(Settings):
    """The last stage: changes set back or shortened one by one while the row stays valid."""

    max_columns: int = 64
    """Changed columns of an answer that are tried one by one."""
    halvings: int = 8
    """Halvings of each change towards the row's own value."""
    passes: int = 4
    """Passes over all changes at most; 0: changes are only set back."""
    reset_groups: int = 60
    """Sizes of groups of smallest changes that are set back at once, from 2 to a million."""
    slack_probe_share: float = 0.01
    """An answer still valid this share nearer to the row is not on the boundary and is shortened."""
    coarse_spacing_scales: float = 1e-3
    """Columns whose values are farther apart than this, in feature scales, are always tried."""
    min_gain_share: float = 1e-3
    """A pass that gains less than this share of the effort is the last."""

    @cached_property
    def reset_group_sizes(self) -> Index:
        """Sizes of groups of smallest changes that are set back at once."""
        return np.unique(np.geomspace(2, 1e6, self.reset_groups).astype(np.intp))


@dataclass(frozen=True, repr=False)
class FirmSettings(Settings):
    """The search for answers that survive noise."""

    points: int = 5
    """Points of each row that are carried along."""
    sweeps: int = 4
    """Sweeps of each row at most; the first without a gain is the last."""
    swept_points: int = 2
    """Best points that are swept, beside the row itself."""
    sweep_width: int = 3
    """Values each way that such a sweep tries."""
    samples: int = 32
    """Noisy copies of a point that guide the search."""
    check_samples: int = 512
    """Other copies that choose among its answers."""
    spare_share: float = 0.03
    """Share of copies asked for beyond the one required, since copies that led the search flatter its answers."""
    stretch_factors: tuple[float, ...] = (1.0, 1.08, 1.2, 1.4, 1.7, 2.2, 3.0, 4.5)
    """Multiples of the change of the minimal answers that searches start from."""
    final_stretch_factors: tuple[float, ...] = (1.0, 1.02, 1.05, 1.09, 1.15, 1.25, 1.4, 1.7)
    """Multiples of the change of what was found that the other copies choose from."""
    blend_shares: tuple[float, ...] = (0.25, 0.5, 0.75)
    """Shares of the way from the minimal answer to reference rows that searches start from."""
    start_halvings: int = 5
    """Halvings of each start towards the minimal answer."""
    search_time_share: float = 0.5
    """Share of the time left that the search may take: checking on other copies takes time too."""
    far_starts: int = 64
    """Reference rows, and random points, tried where nothing nearer survives."""
    deep_reference_rows: int = 24
    """Reference rows tried where what was found does not survive on the other copies."""


@dataclass(frozen=True)
class Thoroughness:
    """How long rows are searched, by how the scores of a model arise."""

    starts: int
    """Starts of a row whose model has neither slope nor known leaves."""
    swept_points: int
    """Points of a row that are swept."""
    sweep_width: int
    """Values each way that a sweep tries."""
    screened_features: int
    """Features, those that did most in the first sweep, that later sweeps try."""
    sweep_patience: int
    """Sweeps without a gain after which a row is finished."""
    beam_widths: tuple[int, ...]
    """Points surveyed in a round where the leaves are known: in the second round, and in later ones."""
    margin_price_factors: tuple[float, ...]
    """What missing margin is taken to cost there, over what the best answer paid for it; rounds take turns."""
    round_patience: int
    """Rounds without a gain after which a row is finished, however much the next one promises."""
    min_gain_share: float
    """Share of the effort that a round has to gain."""


@dataclass(frozen=True, repr=False)
class SearchSettings:
    """All settings of the default search.

    >>> SearchSettings(smooth=SmoothSettings(walkers=8))
    SearchSettings(smooth=SmoothSettings(walkers=8))
    """

    starts: StartSettings = StartSettings()
    trials: TrialSettings = TrialSettings()
    smooth: SmoothSettings = SmoothSettings()
    trees: TreeSettings = TreeSettings()
    batches: BatchSettings = BatchSettings()
    votes: Thoroughness = Thoroughness(48, 6, 5, 30, 3, (8,), (1.3, 1.6, 2.0), 4, 1e-3)
    """For models that vote or give probabilities, of which single changes tell little."""
    sums: Thoroughness = Thoroughness(24, 3, 4, 14, 1, (8, 3), (2.0,), 4, 0.1)
    """For scores that add up, as of boosted trees, of which single changes tell much."""

    def __post_init__(self) -> None:
        for each in fields(SearchSettings):
            given = getattr(self, each.name)
            if not isinstance(given, type(each.default)):
                kind = type(each.default).__name__
                raise InputError(f"{each.name} must be {kind}", f"{given!r}", f"give {each.name}={kind}(...)")

    def __repr__(self) -> str:
        return show_changed_fields(self)


DEFAULTS, POLISH_DEFAULTS, FIRM_DEFAULTS = SearchSettings(), PolishSettings(), FirmSettings()
