"""All settings of the default search together."""

from __future__ import annotations

from dataclasses import dataclass, fields

from counterpoise.errors import InputError
from counterpoise.methods.settings.checked import show_changed_fields
from counterpoise.methods.settings.finish import BatchSettings, FirmSettings, PolishSettings
from counterpoise.methods.settings.smooth import SmoothSettings
from counterpoise.methods.settings.start_settings import StartSettings
from counterpoise.methods.settings.surrogate_settings import SurrogateSettings
from counterpoise.methods.settings.trees import TreeSettings
from counterpoise.methods.settings.trials import TrialSettings


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
    """Where searches start."""
    trials: TrialSettings = TrialSettings()
    """Single changes and sweeps."""
    smooth: SmoothSettings = SmoothSettings()
    """Models with a slope."""
    trees: TreeSettings = TreeSettings()
    """Trees whose leaves are known."""
    surrogate: SurrogateSettings = SurrogateSettings()
    """Trees that stand for models of which nothing is known, where model rows are limited."""
    batches: BatchSettings = BatchSettings()
    """How many points go to the model at once."""
    votes: Thoroughness = Thoroughness(48, 6, 5, 30, 2, (8,), (1.3, 1.6, 2.0), 4, 1e-3)
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


DEFAULTS, POLISH_DEFAULTS = SearchSettings(), PolishSettings()
FIRM_DEFAULTS = FirmSettings()
