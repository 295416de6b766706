"""Discovery: what the data obeys is found, what it does not is not, and what is listed for real data is covered."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.space.region.region import Region
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema

DATA = Path(os.environ.get("COUNTERPOISE_DATA", Path(__file__).parents[4] / "shared" / "data"))


def flows(rows: int = 400) -> pd.DataFrame:
    """Simulated flows that obey one relation of each sort."""
    rng = np.random.default_rng(7)
    fwd, bwd = rng.integers(1, 60, rows), rng.integers(1, 60, rows)
    sizes = np.sort(rng.gamma(2, 90, (rows, 3)), axis=1)
    same = rng.random(rows) < 0.2  # flows of one packet: least, mean and most are equal
    sizes[same] = sizes[same, :1]
    service = rng.choice(["http", "dns", "ssh"], rows)
    udp = service == "dns"
    parts = rng.integers(0, 20, (rows, 4))
    return pd.DataFrame(
        {
            "fwd": fwd,
            "bwd": bwd,
            "total": fwd + bwd,
            "least": sizes[:, 0],
            "mean": sizes[:, 1],
            "most": sizes[:, 2],
            "bytes": sizes[:, 1] * (fwd + bwd),
            "copy": sizes[:, 1] * (fwd + bwd),
            "service": service,
            "port": pd.Series(service).map({"http": 80, "dns": 53, "ssh": 22}).to_numpy(),
            "syn flags": np.where(udp, 0, rng.integers(1, 4, rows)),
            "q1": parts[:, 0],
            "q2": parts[:, 1],
            "q3": parts[:, 2],
            "q4": parts[:, 3],
            "year": parts.sum(axis=1),
            "noise": rng.normal(size=rows),
        }
    )


def test_each_sort_of_relation_is_found():
    found = cp.discover(flows())
    said = dict(zip(found.table["constraint"], found.table["sort"], strict=True))
    assert said["Rule('total == fwd + bwd', relax=True)"] == "sum"
    assert said["Rule('year == q1 + q2 + q3 + q4', relax=True)"] == "sum"
    assert said["Rule('bytes == total * mean', relax=True)"] == "product"
    assert said["Rule('least <= mean <= most', relax=True)"] == "order"
    assert said["Rule('copy == bytes', relax=True)"] == "equal"
    assert said["Rule(\"service == 'dns' implies `syn flags` == 0\", relax=True)"] == "apart"
    ports = "Lookup(name='port', of='service', table=(('dns', 53), ('http', 80), ('ssh', 22)), relax=True)"
    assert said[ports] == "dependence"
    assert not [text for text in said if "noise" in text]


def test_every_share_is_what_the_rows_say():
    table = flows()
    table.loc[:1, "total"] += 5  # two rows of 400 break the sum
    for found in cp.discover(table):
        schema = Schema.infer(table)
        region = Region.build(schema, encode(schema, table), [found.constraint], None)
        assert region.system.relations[0].relax
        holds = region.system.is_binding.all(axis=1)  # with relax=True, those that break it are let off
        assert holds.mean() == pytest.approx(found.holds, abs=1e-9), found
        assert found.holds >= 0.99


def test_unrelated_features_give_nothing():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(500, 6)), columns=list("abcdef")).assign(g=rng.integers(0, 9, 500))
    assert len(cp.discover(table)) == 0
    assert cp.discover(table).constraints == ()


def test_a_share_must_be_one():
    with pytest.raises(InputError, match="share"):
        cp.discover(flows(), share=0.2)


def test_discovered_relations_can_be_used_as_they_are():
    table = flows()
    schema = Schema.infer(table)
    x0 = encode(schema, table.iloc[:20])
    region = Region.build(schema, x0, cp.discover(table).constraints)
    rng = np.random.default_rng(0)
    y, inside = region.bring_inside(x0[:, None, :] + 0.3 * rng.normal(size=(20, 20, len(schema))) * schema.scales)
    assert inside.mean() > 0.5
    good = pd.DataFrame(y[inside], columns=list(table.columns))
    assert (good.fwd + good.bwd == good.total).all()
    assert (good[["q1", "q2", "q3", "q4"]].sum(axis=1) == good.year).all()
    assert np.allclose(good.bytes, good.total * good["mean"], rtol=1e-5)


@pytest.mark.skipif(not DATA.exists(), reason="the data sets are not here")
@pytest.mark.parametrize("name", ["rt_iot2022", "ciciot2023", "unsw_nb15"])
def test_what_breaks_a_listed_relation_of_real_data_breaks_a_discovered_one(name):
    listed = yaml.safe_load((DATA / f"{name}.yaml").read_text())
    columns = [column["name"] for column in listed["columns"]]
    table = pd.read_csv(DATA / f"{name}.csv.gz", keep_default_na=False)[columns].iloc[:6000]
    schema, rng = Schema.infer(table), np.random.default_rng(0)
    found = [each.constraint for each in cp.discover(table) if each.sort in ("sum", "product", "order", "equal")]
    x0 = encode(schema, table.iloc[rng.choice(len(table), 300, replace=False)])
    mixed = np.where(rng.random(x0.shape) < 0.3, rng.permutation(x0), x0)  # cells of other rows
    words = [cp.Rule(each["rule"], tolerance=float(each["tolerance"])) for each in listed["relations"]]
    broken = ~Region.build(schema, mixed, words, None).system.holds_each(mixed[:, None, :])[:, 0]
    noticed = ~Region.build(schema, x0, found, None).system.holds_each(mixed[:, None, :])[:, 0].all(axis=1)
    assert broken.any(axis=0).all(), "every listed relation is broken somewhere"
    assert noticed[broken.any(axis=1)].mean() > 0.99
