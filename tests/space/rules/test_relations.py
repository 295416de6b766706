"""Relations between features: what the region lets through obeys them, by arithmetic that is not the region's own."""

import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise.errors import ConstraintError
from counterpoise.methods.base import last_run
from counterpoise.space.region.region import Region, check_constraints
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema
from worlds import seeds

SOME = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
NAMES = ["i", "j", "k", "u", "v", "w"]  # three whole numbers, two with decimals, one without
SIGNS = {"==": 0, "<=": 1, ">=": -1}


def table(rng: np.random.Generator, rows: int = 40) -> pd.DataFrame:
    whole = rng.integers(-9, 10, (rows, 3))
    tenths = rng.integers(-90, 90, (rows, 2)) / 10
    return pd.DataFrame(dict(zip(NAMES, [*whole.T, *tenths.T, rng.normal(0, 5, rows)], strict=True)))


@st.composite
def systems(draw):
    """A table, a row that obeys them all, and some relations as (text, tolerance, judge of a plain dict)."""
    rng = np.random.default_rng(draw(seeds))
    frame = table(rng)
    known = frame.iloc[[0]].to_dict("records")[0]
    rules = []
    for _ in range(draw(st.integers(1, 4))):
        sort = draw(st.sampled_from(["linear", "linear", "order", "product", "either"]))
        names = draw(st.lists(st.sampled_from(NAMES), min_size=3, max_size=3, unique=True))
        a, b, c = (known[name] for name in names)
        if sort == "linear":
            weights = draw(st.lists(st.sampled_from([-3, -1, 1, 2]), min_size=3, max_size=3))
            sign = draw(st.sampled_from(sorted(SIGNS)))
            total = sum(weight * known[name] for weight, name in zip(weights, names, strict=True))
            bound = round(total + SIGNS[sign] * draw(st.sampled_from([0.0, 2.0])), 9)
            text = " + ".join(f"{weight} * {name}" for weight, name in zip(weights, names, strict=True))
            rules.append((f"{text} {sign} {bound!r}", 1e-6, linear(names, weights, sign, bound)))
        elif sort == "order":
            low, high = sorted(names[:2], key=known.__getitem__)
            rules.append((f"{low} <= {high}", 0.0, lambda x, low=low, high=high: x[low] <= x[high]))
        elif sort == "product":
            rest = c - a * b
            text = f"{names[0]} * {names[1]} + {rest!r} == {names[2]}"
            rules.append((text, 1e-3, lambda x, n=names, r=rest: near(x[n[0]] * x[n[1]] + r, x[n[2]], 1e-3)))
        else:
            text = f"if {names[0]} > {a!r} then {names[1]} >= {b!r}"
            rules.append((text, 0.0, lambda x, n=names, a=a, b=b: x[n[0]] <= a or x[n[1]] >= b))
    return frame, known, rules, rng


def near(a, b, tolerance):
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b)) * (1 + 1e-9)


def linear(names, weights, sign, bound):
    def judge(x):
        total = sum(weight * x[name] for weight, name in zip(weights, names, strict=True))
        slack = 1e-6 * max(1.0, abs(total), abs(bound)) * (1 + 1e-9)
        gap = total - bound
        return abs(gap) <= slack if sign == "==" else gap * SIGNS[sign] <= slack

    return judge


def built(frame, rows, words, bounds="observed"):
    schema = Schema.infer(frame)
    check_constraints(schema, words, bounds)
    return schema, Region.build(schema, encode(schema, rows), words, bounds)


@SOME
@given(systems())
def test_no_point_that_the_region_lets_through_breaks_a_rule(case):
    frame, _, rules, rng = case
    rows = pd.concat([frame.iloc[[0]], frame.iloc[1:4]])
    schema, region = built(frame, rows, [cp.Rule(text, tolerance=tolerance) for text, tolerance, _ in rules])
    shape = len(rows), 30, len(NAMES)
    proposal = region.x0[:, None, :] + rng.normal(size=shape) * rng.choice([0.1, 1.0, 10.0], size=shape) * schema.scales
    proposal = np.where(rng.random(shape) < 0.4, region.x0[:, None, :], proposal)
    proposal[:, 0] = region.x0
    y, inside = region.bring_inside(proposal)
    np.testing.assert_array_equal(inside, region.contains(y))
    for point in y[inside]:
        cells = dict(zip(NAMES, point.tolist(), strict=True))
        assert all(judge(cells) for _, _, judge in rules), cells
        assert all(float(cells[name]).is_integer() for name in "ijk")
        assert all(round(cells[name], 1) == cells[name] for name in "uv")
    # the row that obeys is let through as it is, and so is whatever has been let through before
    np.testing.assert_array_equal(y[0, 0], region.x0[0])
    again, still = region.bring_inside(y)
    assert still[inside].all()
    np.testing.assert_array_equal(again[inside], y[inside])
    assert region.feasible[0]
    np.testing.assert_array_equal(region.nearest_feasible[0], region.x0[0])


@SOME
@given(systems())
def test_a_row_alone_is_settled_as_in_a_batch(case):
    frame, _, rules, rng = case
    words = [cp.Rule(text, tolerance=tolerance, relax=True) for text, tolerance, _ in rules]
    schema, region = built(frame, frame.iloc[:5], words)
    proposal = region.x0[:, None, :] + rng.normal(size=(5, 4, len(NAMES))) * schema.scales
    for row in range(5):
        alone, inside = region.take([row]).bring_inside(proposal[[row]])
        together, all_inside = region.bring_inside(proposal)
        np.testing.assert_array_equal(alone[0], together[row])
        np.testing.assert_array_equal(inside[0], all_inside[row])


def test_linear_rules_are_reached_from_almost_anywhere():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 50, (200, 2)), columns=["fwd", "bwd"])
    frame["total"] = frame.fwd + frame.bwd
    frame["least"], frame["mean"], frame["most"] = np.sort(rng.random((200, 3)) * 9, axis=1).T
    words = [cp.Rule("fwd + bwd == total"), cp.Rule("least <= mean <= most")]
    schema, region = built(frame, frame.iloc[:20], words)
    y, inside = region.bring_inside(region.x0[:, None, :] + rng.normal(size=(20, 50, 6)) * schema.scales)
    assert inside.mean() > 0.99
    assert (y[..., 0] + y[..., 1] == y[..., 2]).all()


def test_a_repair_adds_no_change_where_it_can_do_without():
    frame = pd.DataFrame({"a": [1.5, 4.0], "b": [2.5, 5.0], "c": [4.0, 9.0], "d": [0.25, 0.5]})
    _, region = built(frame, frame.iloc[:1], [cp.Rule("a + b == c")])
    proposal = np.array([[[3.0, 2.5, 7.0, 0.25]]])  # b as it was
    y, inside = region.bring_inside(proposal)
    assert inside.all()
    assert y[0, 0, 1] == 2.5
    assert y[0, 0, 0] + 2.5 == pytest.approx(y[0, 0, 2])


DERIVED = pd.DataFrame(
    {
        "bytes": [100, 250, 900, 40],
        "duration": [2.0, 0.5, 3.0, 8.0],
        "rate": [50.0, 500.0, 300.0, 5.0],
        "load": [0.05, 0.5, 0.3, 0.005],
        "other": [1.0, 2.0, 3.0, 4.0],
    }
)
WORDS = [cp.Derived("load", "rate / 1000"), cp.Derived("rate", "bytes / duration")]


def proposals(region, schema, count=40, seed=0):
    rng = np.random.default_rng(seed)
    return region.x0[:, None, :] + rng.normal(size=(len(region.x0), count, len(schema))) * schema.scales


@given(seeds)
def test_derived_features_follow_what_they_are_made_of_in_chains(seed):
    schema, region = built(DERIVED, DERIVED, WORDS, None)
    y, inside = region.bring_inside(proposals(region, schema, seed=seed))
    bytes_, duration, rate, load, _ = np.moveaxis(y, -1, 0)
    own = (bytes_ == region.x0[:, None, 0]) & (duration == region.x0[:, None, 1])  # the table writes whole rates
    assert np.array_equal(rate[inside & ~own], (bytes_ / duration)[inside & ~own])
    assert np.array_equal(load[inside & ~own], (rate / 1000)[inside & ~own])
    assert inside.any()


def test_a_derived_feature_is_never_moved_on_its_own():
    _, region = built(DERIVED, DERIVED, WORDS)
    proposal = region.x0[:, None, :].copy()
    proposal[..., 2:4] = 77.0
    y, inside = region.bring_inside(proposal)
    assert inside.all()
    np.testing.assert_array_equal(y, region.x0[:, None, :])
    assert not region.free[:, 2:4].any()


def test_a_constrained_derived_feature_passes_the_constraint_on():
    for word, law in [
        (cp.Range("rate", 20, 60), lambda rate, x0: (rate >= 20) & (rate <= 60)),
        (cp.Immutable("rate"), lambda rate, x0: rate == x0),
        (cp.Increasing("rate"), lambda rate, x0: rate >= x0),
        (cp.Rule("rate <= 60"), lambda rate, x0: rate <= 60.001),
    ]:
        schema, region = built(DERIVED, DERIVED.iloc[:1], [*WORDS, word])
        y, inside = region.bring_inside(proposals(region, schema, 200))
        assert inside.mean() > 0.9, word
        assert law(y[inside][:, 2], region.x0[0, 2]).all(), word
        assert (y[inside][:, 0] != region.x0[0, 0]).any(), word


def test_a_cycle_of_derived_features_is_shown():
    words = [cp.Derived("rate", "load * 2"), cp.Derived("load", "bytes + rate")]
    with pytest.raises(ConstraintError, match="rate -> load -> rate"):
        built(DERIVED, DERIVED, words)
    with pytest.raises(ConstraintError, match="other -> other"):
        built(DERIVED, DERIVED, [cp.Derived("other", "other + 1")])
    with pytest.raises(ConstraintError, match="one way"):
        built(DERIVED, DERIVED, [cp.Derived("rate", "bytes"), cp.Derived("rate", "duration")])


def test_a_derived_feature_that_may_not_change_still_obeys_its_range() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.normal(3, 1, 200), "b": rng.normal(3, 1, 200)})
    rows["total"] = rows["a"] + rows["b"]
    model = LogisticRegression().fit(rows, rows["a"] > rows["b"])
    words = [cp.Derived("total", "a + b"), cp.Immutable("total"), cp.Range("total", 0, 6)]
    explanation = cp.explain(model, rows[:40], reference=rows, constraints=words)
    over = rows["total"][:40] > 6
    assert over.any()
    assert explanation.valid.tolist() == (~over).tolist()


def test_a_division_by_zero_is_refused_and_said():
    frame = DERIVED.assign(duration=[2.0, 0.0, 3.0, 8.0])
    _, region = built(frame, frame.iloc[:2], [cp.Rule("bytes / duration == rate", tolerance=0.01)])
    assert region.contains(region.x0[:, None, :])[:, 0].tolist() == [True, False]
    assert "divides by zero" in region.violations(region.x0)[1][0]
    assert region.violations(region.x0)[0] == ()


def test_linked_features_change_together_or_not_at_all():
    schema, region = built(DERIVED, DERIVED, [cp.Linked("bytes", ["duration", "other"])])
    rng = np.random.default_rng(1)
    proposal = proposals(region, schema)
    proposal = np.where(rng.random(proposal.shape) < 0.5, region.x0[:, None, :], proposal)
    y, inside = region.bring_inside(proposal)
    changed = region.is_changed(y)[..., [0, 1, 4]]
    assert inside.mean() > 0.9
    assert (changed.all(axis=-1) | ~changed.any(axis=-1))[inside].all()
    assert changed.all(axis=-1)[inside].any()


@pytest.mark.parametrize("size", [7, 0.25])
def test_steps_count_from_the_row(size):
    name = "bytes" if size == 7 else "duration"
    schema, region = built(DERIVED, DERIVED, [cp.Step(name, size)])
    y, inside = region.bring_inside(proposals(region, schema))
    column = schema.position(name)
    count = (y[..., column] - region.x0[:, None, column]) / size
    assert inside.all()
    np.testing.assert_array_equal(count, np.rint(count))
    assert len(np.unique(count)) > 3
    assert (y[..., column] >= region.lower[:, None, column]).all()


def test_steps_that_cannot_be_are_refused():
    with pytest.raises(ConstraintError, match="whole"):
        built(DERIVED, DERIVED, [cp.Step("bytes", 0.5)])
    with pytest.raises(ConstraintError, match="not both"):
        built(DERIVED, DERIVED, [cp.Step("duration", 0.5), cp.OneOf("duration", [2.0, 3.0])])
    with pytest.raises(ConstraintError, match="positive"):
        cp.Step("bytes", 0)
    # whole numbers in steps of a half from a row that has a fraction: there are none
    _, region = built(DERIVED, DERIVED.iloc[[1, 2]], [cp.Step("duration", 0.5), cp.Integer("duration")])
    assert region.feasible.tolist() == [False, True]


def test_within_keeps_near_the_row():
    schema, region = built(
        DERIVED, DERIVED, [cp.Within(["bytes", "rate"], percent=10), cp.Within("other", distance=0.5)]
    )
    y, _ = region.bring_inside(proposals(region, schema))
    for name, reach in (("bytes", 0.1 * DERIVED.bytes), ("rate", 0.1 * DERIVED.rate), ("other", 0.5)):
        column = schema.position(name)
        far = np.abs(y[..., column] - region.x0[:, None, column])
        assert (far <= np.broadcast_to(reach, 4)[:, None] + 1e-9).all()
    with pytest.raises(ConstraintError, match="one of percent and distance"):
        cp.Within("bytes", percent=10, distance=3)


def test_an_infinite_cost_forbids_a_direction_and_a_finite_one_counts():
    schema, region = built(DERIVED, DERIVED, [cp.Cost("bytes", up=2.0, down=math.inf)])
    y, _ = region.bring_inside(proposals(region, schema))
    assert (y[..., 0] >= region.x0[:, None, 0]).all()
    train = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0, 4.123456], "b": [0.0, 1.0, 2.0, 3.0, 4.123456]})
    model = LogisticRegression().fit(train, [0, 0, 0, 1, 1])
    row, wanted = {"a": 0.5, "b": 0.5}, {}
    for up in (1.0, 5.0):
        found = cp.explain(model, row, reference=train, constraints=[cp.Cost("a", up=up)], lam=0.0)
        wanted[up] = found.frame.iloc[0] - pd.Series(row)
        assert found.valid.all()
    assert wanted[1.0]["a"] == pytest.approx(wanted[1.0]["b"], rel=0.2)
    assert wanted[5.0]["a"] < 0.2 * wanted[5.0]["b"]
    for bad in ({"up": -1}, {"down": math.nan}):
        with pytest.raises(ConstraintError, match="at least 0"):
            cp.Cost("a", **bad)


def test_a_lookup_follows_its_table():
    frame = pd.DataFrame(
        {"service": ["http", "dns", "ssh", "http"], "port": [80, 53, 22, 80], "n": [1.5, 2.5, 3.0, 4.0]}
    )
    words = [cp.Lookup("port", of="service", table={"http": 80, "dns": 53})]
    schema, region = built(frame, frame.iloc[:2], words)
    rng = np.random.default_rng(0)
    proposal = np.stack([rng.integers(0, 3, (2, 50)), rng.integers(20, 90, (2, 50)), rng.random((2, 50))], axis=-1)
    y, inside = region.bring_inside(proposal.astype(float))
    named = np.array(schema["service"].categories, dtype=object)[y[..., 0].astype(int)]
    pairs = set(zip(named[inside], y[..., 1][inside], strict=True))
    assert pairs == {("http", 80.0), ("dns", 53.0)}
    _, region = built(frame, frame.iloc[:1], [*words, cp.Immutable("port")])
    y, inside = region.bring_inside(proposal[:1].astype(float))
    assert inside.all()
    assert (y[..., 0] == schema["service"].code_by_category["http"]).all()


def test_a_function_is_asked_and_obeyed():
    def small(frame):
        assert list(frame.columns) == list(DERIVED.columns)
        assert frame.dtypes.tolist() == DERIVED.dtypes.tolist()
        return frame.bytes * frame.other < 1500

    schema, region = built(DERIVED, DERIVED, [small])
    y, inside = region.bring_inside(proposals(region, schema))
    np.testing.assert_array_equal(inside, y[..., 0] * y[..., 4] < 1500)
    assert any(word.startswith("small(frame)") for word in region.violations(DERIVED.to_numpy() * 10)[0])
    for wrong, said in (
        (lambda frame: frame.bytes, "one truth value per row"),
        (lambda frame: 1 / 0, "ZeroDivisionError"),
    ):
        with pytest.raises(ConstraintError, match=said):
            built(DERIVED, DERIVED, [wrong])


def test_a_rule_binds_even_where_the_row_breaks_it_unless_it_is_relaxed():
    frame = DERIVED.assign(rate=[50.0, 500.0, 300.0, 99.0])  # the last row breaks it
    for relax, obeys in ((False, [True] * 4), (True, [True, True, True, False])):
        words = [cp.Rule("rate == bytes / duration", tolerance=1e-3, relax=relax)]
        schema, region = built(frame, frame, words)
        y, inside = region.bring_inside(proposals(region, schema, 100))
        rate = y[..., 0] / y[..., 1]
        fits = np.abs(y[..., 2] - rate) <= 1.001e-3 * np.maximum(np.maximum(np.abs(y[..., 2]), np.abs(rate)), 1)
        assert [bool(fits[row][inside[row]].all()) for row in range(4)] == obeys
        assert inside.any(axis=1).all()
        assert [bool(words) for words in region.system.waived_relations()] == [not each for each in obeys]
        assert region.contains(region.nearest_feasible[:, None, :]).all()


TRAIN = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0, 4.0, 1.5], "b": [0.5, 1.0, 1.0, 2.0, 3.0, 0.25]})
TRAIN["total"] = TRAIN.a + TRAIN.b
MODEL = LogisticRegression(C=100).fit(TRAIN, [0, 0, 0, 1, 1, 0])


def test_answers_obey_and_a_row_alone_equals_the_row_in_a_batch():
    words = [cp.Rule("a + b == total"), cp.Rule("b <= a + 0.5")]
    explainer = cp.Explainer(MODEL, reference=TRAIN, constraints=words)
    together = explainer(TRAIN, alternatives=2)
    assert together.valid.all()
    frame = together.frame
    assert (np.abs(frame.a + frame.b - frame.total) <= 1e-5).all()
    assert (frame.b <= frame.a + 0.5 + 1e-5).all()
    for row in range(len(TRAIN)):
        alone = explainer(TRAIN.iloc[[row]], alternatives=2)
        np.testing.assert_array_equal(alone.answers[0], together.answers[row])


def test_trees_are_asked_again_where_a_relation_moves_an_answer_out_of_its_cell():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 40, (400, 2)), columns=["fwd", "bwd"])
    frame["total"], frame["mean"] = frame.fwd + frame.bwd, rng.gamma(2, 3, 400)
    frame["bytes"] = frame.total * frame["mean"]
    attack = (frame.total > 45) ^ (frame.bytes > 250)
    model = HistGradientBoostingClassifier(max_iter=40, random_state=0).fit(frame, attack)
    words = [cp.Rule("fwd + bwd == total"), cp.Rule("bytes == total * mean", tolerance=1e-4)]
    rows = frame[model.predict(frame)][:25]
    found = cp.explain(model, rows, reference=frame, constraints=words, target=False)
    assert found.valid.all()
    assert not model.predict(found.frame).any()
    assert (found.frame.fwd + found.frame.bwd == found.frame.total).all()


def test_what_stood_in_the_way_is_named():
    blocked = cp.Rule("a + b <= 2.9")
    found = cp.explain(MODEL, TRAIN.iloc[:1], reference=TRAIN, constraints=[cp.Rule("a + b == total"), blocked])
    assert found.status.tolist() == ["not_found"]
    assert repr(blocked) in found.reason[0] or "lacks" in found.reason[0]
    assert found.frame.a[0] + found.frame.b[0] <= 2.9 + 1e-5  # the nearest miss obeys as well
    assert found.frame.a[0] + found.frame.b[0] == pytest.approx(found.frame.total[0])
    held = [cp.Immutable("a", "b"), cp.Rule("a + b >= 9")]
    found = cp.explain(MODEL, TRAIN.iloc[:1], reference=TRAIN, constraints=held)
    assert found.status.tolist() == ["infeasible"]
    assert all(repr(word) in found.reason[0] for word in held)


def test_a_row_that_is_let_off_says_so():
    odd = pd.DataFrame({"a": [3.5], "b": [1.0], "total": [1.0]})
    rule = cp.Rule("a + b == total", relax=True)
    found = cp.explain(MODEL, odd, reference=TRAIN, constraints=[rule])
    assert f"let off {rule!r}" in found.reason[0]


@cache
def captured():
    """The problem that a search is given."""

    class Watching:
        problem = None

        def iterate(self, problem, streams):
            Watching.problem = problem
            yield from cp.NearestNeighbour().iterate(problem, streams)

        def __call__(self, problem, streams):
            return last_run(self.iterate(problem, streams))

    cp.explain(MODEL, TRAIN, reference=TRAIN, constraints=[cp.Rule("a + b == total")], method=Watching())
    return Watching.problem


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=3), st.integers(0, 2), st.floats(-9, 9))
def test_columns_follow_the_one_that_was_moved(start: list[float], moved: int, value: float) -> None:
    schema = Schema.infer(pd.DataFrame({"low": [-9.5, 9.5], "mean": [-9.5, 9.5], "high": [-9.5, 9.5]}))
    base = np.sort(np.array(start))[None, None, :]
    system = Region.build(schema, base[0], [cp.Rule("low <= mean <= high")]).system
    asked = base.copy()
    asked[..., moved] = value
    found = system.follow_orderings(asked, base)
    assert found[0, 0, moved] == value, "what was asked for is kept"
    assert system.holds(found)[0, 0]
    still = np.array([column <= value if place < moved else column >= value for place, column in enumerate(base[0, 0])])
    still[moved] = False
    assert np.array_equal(found[0, 0][still], base[0, 0][still]), "nothing moves that need not"


def test_what_a_link_sets_back_out_of_its_range_is_not_inside():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(2, 2, (60, 3)), columns=list("abc"))
    rows = table[(table["a"] < 1) | (table["a"] > 3)].to_numpy()[:20]
    region = Region.build(Schema.infer(table), rows, [cp.Linked("a", "b"), cp.Range("a", 1, 3)])
    proposals = np.repeat(rows[:, None, :], 8, axis=1)
    proposals[:, :4] += rng.normal(size=(len(rows), 4, 3))
    settled, inside = region.bring_inside(proposals)
    assert (region.contains(settled) | ~inside).all()


def test_a_step_on_a_derived_feature_is_refused_and_a_rule_is_solved_for_it() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.normal(0, 3, 200), "b": rng.integers(0, 20, 200)})
    rows["t"] = rows["a"] + rows["b"]
    model = LogisticRegression().fit(rows, rows["a"] + 0.3 * rows["b"] > 3)
    with pytest.raises(ConstraintError, match="state the relation as a Rule"):
        cp.explain(model, rows[:5], reference=rows, constraints=[cp.Derived("t", "a + b"), cp.Step("t", 0.5)])
    words = [cp.Rule("t == a + b"), cp.Step("t", 0.5)]
    found = cp.explain(model, rows[:5], reference=rows, constraints=words)
    assert found.valid.all()
    steps = (found.frame["t"] - rows["t"][:5]) / 0.5
    np.testing.assert_allclose(steps, steps.round(), atol=1e-6)


MADE = [
    *[cp.Derived(name, text, tolerance=0.001) for name, text in (("t", "p + q"), ("u", "p - q + r"))],
    *[cp.Rule(text, tolerance=0.001) for text in ("p * q == v", "t + u == z", "p <= q + 0.5", "q <= r + 0.5")],
]


@SOME
@given(seeds)
def test_what_becomes_of_a_point_does_not_depend_on_other_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.normal(2, 1, (5, 7)), columns=list("pqrtuvz"))
    schema = Schema.infer(rows)
    x0, x = rows.to_numpy(), rng.normal(2, 1.5, (5, 3, 7))
    together, inside = Region.build(schema, x0, MADE, None).bring_inside(x)
    for row in range(5):
        alone, held = Region.build(schema, x0[[row]], MADE, None).bring_inside(x[[row]])
        np.testing.assert_array_equal(alone[0], together[row])
        np.testing.assert_array_equal(held[0], inside[row])
    single, _ = Region.build(schema, x0[:1], MADE, None).bring_inside(x[:1, 1:2])
    np.testing.assert_array_equal(single[0, 0], together[0, 1])
