"""Flows, a detector of them, and the same alerts as the logs of five tools write them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier

COLUMNS = ["dur", "spkts", "dpkts", "sbytes", "dbytes"]
ZEEK_FIELDS = (
    "ts:time uid:string id.orig_h:addr id.orig_p:port id.resp_h:addr id.resp_p:port proto:enum service:string "
    "duration:interval orig_bytes:count resp_bytes:count conn_state:string local_orig:bool local_resp:bool "
    "missed_bytes:count history:string orig_pkts:count orig_ip_bytes:count resp_pkts:count resp_ip_bytes:count "
    "tunnel_parents:set[string]"
)
MAPPINGS = {  # by format: the model's columns and the log's fields
    "zeek": {
        "dur": "duration",
        "spkts": "orig_pkts",
        "dpkts": "resp_pkts",
        "sbytes": "orig_bytes",
        "dbytes": "resp_bytes",
    },
    "eve": {
        "dur": "flow.age",
        "spkts": "flow.pkts_toserver",
        "dpkts": "flow.pkts_toclient",
        "sbytes": "flow.bytes_toserver",
        "dbytes": "flow.bytes_toclient",
    },
    "nfstream": {
        "dur": "{field: bidirectional_duration_ms, scale: 0.001}",
        "spkts": "src2dst_packets",
        "dpkts": "dst2src_packets",
        "sbytes": "src2dst_bytes",
        "dbytes": "dst2src_bytes",
    },
    "cicflowmeter": {
        "dur": "{field: Flow Duration, scale: 0.000001}",
        "spkts": "Tot Fwd Pkts",
        "dpkts": "Tot Bwd Pkts",
        "sbytes": "TotLen Fwd Pkts",
        "dbytes": "TotLen Bwd Pkts",
    },
}


@cache
def training() -> tuple[pd.DataFrame, pd.Series[str]]:
    rng = np.random.default_rng(5)
    n = 400
    attack = rng.random(n) < 0.4
    spkts = np.where(attack, rng.integers(40, 200, n), rng.integers(1, 60, n))
    dpkts = rng.integers(1, 50, n)
    table = pd.DataFrame(
        {
            "dur": np.where(attack, rng.integers(1, 5, n), rng.integers(1, 60, n)).astype(float),
            "spkts": spkts,
            "dpkts": dpkts,
            "sbytes": spkts * rng.integers(40, 90, n),
            "dbytes": dpkts * rng.integers(60, 900, n),
        }
    )
    return table, pd.Series(np.where(attack, "ddos", "benign"))


@cache
def detector() -> Any:
    return GradientBoostingClassifier(n_estimators=20, max_depth=3, random_state=0).fit(*training())


@cache
def raised() -> pd.DataFrame:
    table, _ = training()
    return table[detector().predict(table) == "ddos"].head(8).reset_index(drop=True)


def mapping_text(kind: str) -> str:
    return "columns:\n" + "".join(f"  {name}: {field}\n" for name, field in MAPPINGS[kind].items())


def _zeek_records() -> list[dict[str, Any]]:
    return [
        {
            "ts": 1591367999.305988 + place,
            "uid": f"CMdzit1AMNsmfAIi{place}",
            "id.orig_h": f"192.168.4.{70 + place}",
            "id.orig_p": 36844 + place,
            "id.resp_h": "203.0.113.9",
            "id.resp_p": 80,
            "proto": "tcp",
            "service": None,
            "duration": row.dur,
            "orig_bytes": row.sbytes,
            "resp_bytes": row.dbytes,
            "conn_state": "SF",
            "local_orig": True,
            "local_resp": False,
            "missed_bytes": 0,
            "history": "ShAdDaFf",
            "orig_pkts": row.spkts,
            "orig_ip_bytes": row.sbytes + 40 * row.spkts,
            "resp_pkts": row.dpkts,
            "resp_ip_bytes": row.dbytes + 40 * row.dpkts,
            "tunnel_parents": [],
        }
        for place, row in enumerate(raised().itertuples())
    ]


def _zeek_cell(value: Any) -> str:
    if value is None:
        return "-"
    if value == []:
        return "(empty)"
    return {True: "T", False: "F"}[value] if isinstance(value, bool) else str(value)


def zeek_tsv() -> str:
    names, types = zip(*(field.split(":") for field in ZEEK_FIELDS.split()), strict=True)
    head = [
        "#separator \\x09",
        "#set_separator\t,",
        "#empty_field\t(empty)",
        "#unset_field\t-",
        "#path\tconn",
        "#open\t2020-06-05-14-40-00",
        "\t".join(["#fields", *names]),
        "\t".join(["#types", *types]),
    ]
    lines = ["\t".join(_zeek_cell(record[name]) for name in names) for record in _zeek_records()]
    return "\n".join([*head, *lines, "#close\t2020-06-05-15-00-00"]) + "\n"


def zeek_json() -> str:
    kept = [{name: value for name, value in record.items() if value is not None} for record in _zeek_records()]
    return "".join(json.dumps(record) + "\n" for record in kept)


def eve() -> str:
    lines = []
    for place, row in enumerate(raised().itertuples()):
        record = {
            "timestamp": f"2020-06-05T14:39:5{place}.305988+0000",
            "flow_id": 1031464864740687 + place,
            "in_iface": "eth0",
            "event_type": "alert" if place % 2 else "flow",
            "src_ip": f"192.168.4.{70 + place}",
            "src_port": 36844 + place,
            "dest_ip": "203.0.113.9",
            "dest_port": 80,
            "proto": "TCP",
            "app_proto": "http",
            "flow": {
                "pkts_toserver": row.spkts,
                "pkts_toclient": row.dpkts,
                "bytes_toserver": row.sbytes,
                "bytes_toclient": row.dbytes,
                "start": "2020-06-05T14:39:50.000000+0000",
                "age": int(row.dur),
                "state": "closed",
                "alerted": False,
            },
            "tcp": {"tcp_flags": "1b", "syn": True, "state": "closed"},
        }
        if place % 2:
            record["alert"] = {
                "action": "allowed",
                "gid": 1,
                "signature_id": 2017318,
                "signature": "ET DOS",
                "severity": 2,
            }
        lines.append(json.dumps(record))
    return "\n".join([*lines, json.dumps({"event_type": "dns", "dns": {"type": "query"}})]) + "\n"


def nfstream() -> str:
    flows = raised()
    table = pd.DataFrame(
        {
            "id": range(len(flows)),
            "expiration_id": 0,
            "src_ip": [f"192.168.4.{70 + place}" for place in range(len(flows))],
            "src_port": 36844,
            "dst_ip": "203.0.113.9",
            "dst_port": 80,
            "protocol": 6,
            "ip_version": 4,
            "bidirectional_first_seen_ms": 1591367999305,
            "bidirectional_duration_ms": (1000 * flows["dur"]).astype(int),
            "bidirectional_packets": flows["spkts"] + flows["dpkts"],
            "bidirectional_bytes": flows["sbytes"] + flows["dbytes"],
            "src2dst_packets": flows["spkts"],
            "src2dst_bytes": flows["sbytes"],
            "dst2src_packets": flows["dpkts"],
            "dst2src_bytes": flows["dbytes"],
            "application_name": "HTTP",
        }
    )
    return str(table.to_csv(index=False))


def cicflowmeter() -> str:
    flows = raised()
    table = pd.DataFrame(
        {
            "Flow ID": [f"192.168.4.{70 + place}-203.0.113.9-36844-80-6" for place in range(len(flows))],
            "Src IP": [f"192.168.4.{70 + place}" for place in range(len(flows))],
            "Src Port": 36844,
            "Dst IP": "203.0.113.9",
            "Dst Port": 80,
            "Protocol": 6,
            "Timestamp": "2020-06-05 14:39:59",
            "Flow Duration": (1e6 * flows["dur"]).astype(int),
            "Tot Fwd Pkts": flows["spkts"],
            "Tot Bwd Pkts": flows["dpkts"],
            "TotLen Fwd Pkts": flows["sbytes"],
            "TotLen Bwd Pkts": flows["dbytes"],
            "Label": "No Label",
        }
    )
    return str(table.to_csv(index=False))


LOGS = {  # by the name of its file: its format and its text
    "conn.log": ("zeek", zeek_tsv),
    "conn.json": ("zeek", zeek_json),
    "eve.json": ("eve", eve),
    "flows.csv": ("nfstream", nfstream),
    "cic.csv": ("cicflowmeter", cicflowmeter),
}
