"""Rules of traffic hold for the columns that they name, and say how well."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import counterpoise as cp
from counterpoise.security.traffic.flow_rules import side_of

DATA = Path(os.environ.get("COUNTERPOISE_DATA", Path(__file__).parents[3] / "shared" / "data"))


def _flows(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    packets = rng.integers(1, 40, (n, 2))
    sizes = np.round(rng.uniform(40, 900, (n, 2)), 1)
    return pd.DataFrame(
        {
            "src2dst_packets": packets[:, 0],
            "dst2src_packets": packets[:, 1],
            "bidirectional_packets": packets.sum(axis=1),
            "src2dst_min_ps": sizes[:, 0] * 0.5,
            "src2dst_mean_ps": sizes[:, 0],
            "src2dst_max_ps": sizes[:, 0] * 2,
            "protocol": rng.choice([6, 17], n),
            "dst_port": rng.integers(1, 65535, n),
        }
    )


def test_a_rule_is_there_only_with_its_columns_and_binds_only_where_it_holds() -> None:
    table = _flows()
    texts = set(cp.security.flow_rules(cp.Schema.infer(table), table).table["rule"])
    assert any("bidirectional_packets == src2dst_packets + dst2src_packets" in text for text in texts)
    assert not any("_bytes" in text for text in texts)
    broken = table.assign(bidirectional_packets=table["bidirectional_packets"] + 1)
    found = cp.security.flow_rules(cp.Schema.infer(broken), broken).table.set_index("rule")
    rule = found.loc["Rule('bidirectional_packets == src2dst_packets + dst2src_packets', relax=True)"]
    assert rule["share"] == 0
    assert not rule["binds"]


@pytest.mark.parametrize("names", [("Tot Fwd Pkts", "TotLen Fwd Pkts"), (" Total Fwd Packets", "tot_bwd_pkts")])
def test_versions_of_cicflowmeter_have_the_same_rules(names: tuple[str, str]) -> None:
    table = pd.DataFrame({name: [1, 2, 3] for name in names} | {"SYN Flag Cnt": [0, 1, 2], "Tot Bwd Pkts": [1, 2, 3]})
    assert len(cp.security.flow_rules(cp.Schema.infer(table)).rules) >= 1


def test_answers_keep_the_pack_and_leave_protocol_and_port_alone() -> None:
    table = _flows()
    label = np.where(table["src2dst_packets"] > 20, "attack", "benign")
    from sklearn.ensemble import GradientBoostingClassifier

    model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(table, label)
    rows = table[label == "attack"].head(10)
    pack = cp.security.flow_rules(cp.Schema.infer(table), table)
    found = cp.explain(model, rows, reference=table, target="benign", constraints=pack.constraints)
    assert found.valid.all()
    answers = found.frame
    assert (answers["bidirectional_packets"] == answers["src2dst_packets"] + answers["dst2src_packets"]).all()
    assert (answers[["protocol", "dst_port"]].to_numpy() == rows[["protocol", "dst_port"]].to_numpy()).all()


def test_who_can_change_what() -> None:
    table = _flows()
    schema = cp.Schema.infer(table)
    (attacker,), (operator,) = (
        cp.security.flow_rules(schema, changeable=who).mutability for who in ("attacker", "operator")
    )
    assert "src2dst_packets" in attacker.names
    assert "dst2src_packets" not in attacker.names
    assert "dst2src_packets" in operator.names
    assert "src2dst_packets" not in operator.names
    with pytest.raises(cp.InputError, match="attacker"):
        cp.security.flow_rules(schema, changeable="me")  # type: ignore[arg-type]
    with pytest.raises(cp.InputError, match="columns that the attacker can change"):
        cp.security.flow_rules(cp.Schema.infer(pd.DataFrame({"colour": [1, 2]})), changeable="attacker")


@pytest.mark.parametrize("name", ["rt_iot2022", "unsw_nb15", "nsl_kdd", "ciciot2023"])
def test_real_tables_are_known_column_by_column(name: str) -> None:
    path = DATA / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"no {path.name}: COUNTERPOISE_DATA names the folder of the tables")
    table = pd.read_csv(path, keep_default_na=False, nrows=2000).drop(columns=["label", "target"])
    assert [column for column in table if side_of(column) is None] == []
    found = cp.security.flow_rules(cp.Schema.infer(table), table).table
    own = found[found["source"] != "reference"]
    assert (own["source"] == name.replace("_", "-")).mean() > 0.9
    assert own["binds"].mean() > 0.9


def test_floods_that_keep_their_protocol_have_an_answer_far_away() -> None:
    """Fixed protocols leave floods of UDP one far corner that is benign, which each of them can reach."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    path = DATA / "ciciot2023.csv.gz"
    if not path.exists():
        pytest.skip(f"no {path.name}: COUNTERPOISE_DATA names the folder of the tables")
    whole = pd.read_csv(path, keep_default_na=False)
    table = whole.iloc[np.random.default_rng(0).permutation(len(whole))[:6000]].reset_index(drop=True)
    label = table.pop("target")
    table = table.drop(columns=["label", "Protocol Type"])
    model = HistGradientBoostingClassifier(random_state=0).fit(table, label)
    floods = table[(table["UDP"] == 1.0) & (model.predict(table) == 1)].drop_duplicates()[:30]
    pack = cp.security.flow_rules(cp.Schema.infer(table), table)
    explainer = cp.Explainer(model, reference=table, constraints=pack.constraints)
    found = explainer(floods, target=0, proof=False, alternatives=1)
    assert found.valid.all()
