"""CICFlowMeter's columns by the names that its versions give them: the Java tool, its data sets, the Python tool."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

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
    """The name that all versions of the tool share here, the Python tool's; None for a column that none of them has.

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
