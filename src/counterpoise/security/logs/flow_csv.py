"""The CSV files of NFStream and CICFlowMeter, line by line; the several names that a column has become one."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from counterpoise.security.logs.log_table import LineProblem, LogTable, build_log_table, check_finite, refuse_empty

# A line a column: the Python tool's name, that of the Java tool and the sets of 2018, those of the sets of 2017 and of
# later Java releases.
ALIASES = """
flow_id | Flow ID
src_ip | Src IP | Source IP
src_port | Src Port | Source Port
dst_ip | Dst IP | Destination IP
dst_port | Dst Port | Destination Port
protocol | Protocol
timestamp | Timestamp
flow_duration | Flow Duration
tot_fwd_pkts | Tot Fwd Pkts | Total Fwd Packets | Total Fwd Packet
tot_bwd_pkts | Tot Bwd Pkts | Total Backward Packets | Total Bwd packets
totlen_fwd_pkts | TotLen Fwd Pkts | Total Length of Fwd Packets | Total Length of Fwd Packet | Fwd Packets Length Total
totlen_bwd_pkts | TotLen Bwd Pkts | Total Length of Bwd Packets | Total Length of Bwd Packet | Bwd Packets Length Total
fwd_pkt_len_max | Fwd Pkt Len Max | Fwd Packet Length Max
fwd_pkt_len_min | Fwd Pkt Len Min | Fwd Packet Length Min
fwd_pkt_len_mean | Fwd Pkt Len Mean | Fwd Packet Length Mean
fwd_pkt_len_std | Fwd Pkt Len Std | Fwd Packet Length Std
bwd_pkt_len_max | Bwd Pkt Len Max | Bwd Packet Length Max
bwd_pkt_len_min | Bwd Pkt Len Min | Bwd Packet Length Min
bwd_pkt_len_mean | Bwd Pkt Len Mean | Bwd Packet Length Mean
bwd_pkt_len_std | Bwd Pkt Len Std | Bwd Packet Length Std
flow_byts_s | Flow Byts/s | Flow Bytes/s
flow_pkts_s | Flow Pkts/s | Flow Packets/s
flow_iat_mean | Flow IAT Mean
flow_iat_std | Flow IAT Std
flow_iat_max | Flow IAT Max
flow_iat_min | Flow IAT Min
fwd_iat_tot | Fwd IAT Tot | Fwd IAT Total
fwd_iat_mean | Fwd IAT Mean
fwd_iat_std | Fwd IAT Std
fwd_iat_max | Fwd IAT Max
fwd_iat_min | Fwd IAT Min
bwd_iat_tot | Bwd IAT Tot | Bwd IAT Total
bwd_iat_mean | Bwd IAT Mean
bwd_iat_std | Bwd IAT Std
bwd_iat_max | Bwd IAT Max
bwd_iat_min | Bwd IAT Min
fwd_psh_flags | Fwd PSH Flags
bwd_psh_flags | Bwd PSH Flags
fwd_urg_flags | Fwd URG Flags
bwd_urg_flags | Bwd URG Flags
fwd_header_len | Fwd Header Len | Fwd Header Length
bwd_header_len | Bwd Header Len | Bwd Header Length
fwd_pkts_s | Fwd Pkts/s | Fwd Packets/s
bwd_pkts_s | Bwd Pkts/s | Bwd Packets/s
pkt_len_min | Pkt Len Min | Min Packet Length | Packet Length Min
pkt_len_max | Pkt Len Max | Max Packet Length | Packet Length Max
pkt_len_mean | Pkt Len Mean | Packet Length Mean
pkt_len_std | Pkt Len Std | Packet Length Std
pkt_len_var | Pkt Len Var | Packet Length Variance
fin_flag_cnt | FIN Flag Cnt | FIN Flag Count
syn_flag_cnt | SYN Flag Cnt | SYN Flag Count
rst_flag_cnt | RST Flag Cnt | RST Flag Count
psh_flag_cnt | PSH Flag Cnt | PSH Flag Count
ack_flag_cnt | ACK Flag Cnt | ACK Flag Count
urg_flag_cnt | URG Flag Cnt | URG Flag Count
cwr_flag_count | CWE Flag Count | CWR Flag Count | cwe_flag_count
ece_flag_cnt | ECE Flag Cnt | ECE Flag Count
down_up_ratio | Down/Up Ratio
pkt_size_avg | Pkt Size Avg | Average Packet Size
fwd_seg_size_avg | Fwd Seg Size Avg | Avg Fwd Segment Size | Fwd Segment Size Avg
bwd_seg_size_avg | Bwd Seg Size Avg | Avg Bwd Segment Size | Bwd Segment Size Avg
fwd_byts_b_avg | Fwd Byts/b Avg | Fwd Avg Bytes/Bulk | Fwd Bytes/Bulk Avg
fwd_pkts_b_avg | Fwd Pkts/b Avg | Fwd Avg Packets/Bulk | Fwd Packet/Bulk Avg
fwd_blk_rate_avg | Fwd Blk Rate Avg | Fwd Avg Bulk Rate | Fwd Bulk Rate Avg
bwd_byts_b_avg | Bwd Byts/b Avg | Bwd Avg Bytes/Bulk | Bwd Bytes/Bulk Avg
bwd_pkts_b_avg | Bwd Pkts/b Avg | Bwd Avg Packets/Bulk | Bwd Packet/Bulk Avg
bwd_blk_rate_avg | Bwd Blk Rate Avg | Bwd Avg Bulk Rate | Bwd Bulk Rate Avg
subflow_fwd_pkts | Subflow Fwd Pkts | Subflow Fwd Packets
subflow_fwd_byts | Subflow Fwd Byts | Subflow Fwd Bytes
subflow_bwd_pkts | Subflow Bwd Pkts | Subflow Bwd Packets
subflow_bwd_byts | Subflow Bwd Byts | Subflow Bwd Bytes
init_fwd_win_byts | Init Fwd Win Byts | Init_Win_bytes_forward | FWD Init Win Bytes
init_bwd_win_byts | Init Bwd Win Byts | Init_Win_bytes_backward | Bwd Init Win Bytes
fwd_act_data_pkts | Fwd Act Data Pkts | act_data_pkt_fwd | Fwd Act Data Pkts
fwd_seg_size_min | Fwd Seg Size Min | min_seg_size_forward
active_mean | Active Mean
active_std | Active Std
active_max | Active Max
active_min | Active Min
idle_mean | Idle Mean
idle_std | Idle Std
idle_max | Idle Max
idle_min | Idle Min
label | Label
"""


@cache
def _common_names() -> dict[str, str]:
    groups = [[name.strip() for name in line.split("|")] for line in ALIASES.strip().splitlines()]
    return {name.lower(): group[0] for group in groups for name in group}


def common_name(name: str) -> str | None:
    """The Python tool's name of a column that versions name differently; None if unknown.

    >>> common_name(" Total Backward Packets"), common_name("Tot Bwd Pkts"), common_name("ttl")
    ('tot_bwd_pkts', 'tot_bwd_pkts', None)
    """
    return _common_names().get(name.strip().lower())


def rename_to_match(columns: Iterable[str], wanted: Iterable[str]) -> dict[str, str]:
    """What columns are to be called so that those of one version match ``wanted``, which another version wrote.

    A column that has a wanted name already keeps it.

    >>> rename_to_match(["Tot Fwd Pkts", "Label"], ["tot_fwd_pkts"])
    {'Tot Fwd Pkts': 'tot_fwd_pkts'}
    """
    there = [str(name) for name in columns]
    by_common = {common_name(name): name for name in reversed(there) if common_name(name)}
    renamed: dict[str, str] = {}
    for name in map(str, wanted):
        source = by_common.get(common_name(name) or "")
        if name not in there and source is not None:
            renamed[source] = name
    return renamed


TEXT_FIELDS = frozenset(  # never numbers, whatever they look like; in small letters, without blanks around them
    (
        *("id", "src_ip", "dst_ip", "src_mac", "dst_mac", "src_oui", "dst_oui", "flow_id", "flow id", "src ip"),
        *("dst ip", "source ip", "destination ip", "timestamp", "label", "application_name"),
        *("application_category_name", "requested_server_name", "client_fingerprint", "server_fingerprint"),
        *("user_agent", "content_type"),
    )
)


def read_flow_csv(kind: str, lines: Iterable[str]) -> LogTable:
    """The table of a CSV file of flows; a line with text in a numeric column is a bad line.

    >>> found = read_flow_csv("nfstream", ["src_ip,src2dst_packets", "10.0.0.1,5", "10.0.0.2", "10.0.0.3,x"])
    >>> found.table.to_dict("list"), [str(each) for each in found.problems][0]
    ({'src_ip': ['10.0.0.1'], 'src2dst_packets': [5]}, 'line 3: it has 1 cells, the header 2')
    """
    reader = csv.reader(lines)
    header: list[str] = []
    kept: list[tuple[int, list[str]]] = []
    problems: list[LineProblem] = []
    try:
        for cells in reader:
            if not header:
                header = [cell.strip() for cell in cells]
                problems += _name_repeated_columns(header)
            elif len(cells) == len(header):
                kept.append((reader.line_num, cells))
            elif any(cell.strip() for cell in cells):
                problems.append(LineProblem(reader.line_num, f"it has {len(cells)} cells, the header {len(header)}"))
    except csv.Error as error:
        problems.append(LineProblem(reader.line_num, f"the rest cannot be read ({error})"))
    is_number = [
        name.lower() not in TEXT_FIELDS and _is_mostly_numbers([cells[place] for _, cells in kept])
        for place, name in enumerate(header)
    ]
    records = []
    for line, cells in kept:
        try:
            record = _parse_cells(header, is_number, cells)
            check_finite(record)
        except ValueError as error:
            problems.append(LineProblem(line, str(error)))
        else:
            records.append((line, record))
    if not records:
        refuse_empty(kind, problems)
    return build_log_table(kind, records, sorted(problems))


def _name_repeated_columns(header: Sequence[str]) -> list[LineProblem]:
    return [
        LineProblem(0, f"several columns are called {name!r}; the last of them is read")
        for name, count in Counter(header).items()
        if count > 1
    ]


def _is_mostly_numbers(cells: Sequence[str]) -> bool:
    full = [cell for cell in cells if cell.strip()]
    return bool(full) and 2 * sum(map(_is_number, full)) >= len(full)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # Python would read 6_2 as 62


def _parse_cells(header: Sequence[str], is_number: Sequence[bool], cells: Sequence[str]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, numeric, cell in zip(header, is_number, cells, strict=True):
        text = cell.strip()
        if not text:
            record[name] = None
        elif not numeric:
            record[name] = text
        else:
            if not _is_number(text):
                raise ValueError(f"{name!r} has {text!r}, which is no number")
            record[name] = int(text) if text.lstrip("+-").isdecimal() and len(text) < 300 else float(text)
    return record
