"""The rules of traffic as texts, by the tool or the data set whose columns they name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

ROUNDED = 1e-3  # relative tolerance where a tool writes rounded numbers


class RuleText(NamedTuple):
    """A rule between columns, and the relative tolerance that it needs."""

    text: str
    tolerance: float = 1e-6


class RangeText(NamedTuple):
    """The range of a column."""

    column: str
    low: float
    high: float | None = None


def _spread(prefix: str, low: str, mean: str, high: str) -> Iterator[RuleText]:
    yield RuleText(f"`{prefix}{low}` <= `{prefix}{mean}` <= `{prefix}{high}`")


def _zeek() -> Iterator[RuleText | RangeText]:
    for side in ("orig", "resp"):
        yield RuleText(f"{side}_bytes > 0 implies {side}_pkts > 0")
        yield RuleText(f"{side}_ip_bytes > 0 implies {side}_pkts > 0")
        yield RuleText(f"{side}_ip_bytes >= 20 * {side}_pkts")  # an IP header has at least 20 bytes
        yield RangeText(f"id.{side}_p", 0, 65535)
    yield RuleText("duration > 0 implies orig_pkts + resp_pkts > 1")


def _nfstream() -> Iterator[RuleText | RangeText]:
    for what in ("packets", "bytes", *(f"{flag}_packets" for flag in TCP_FLAGS)):
        yield RuleText(f"bidirectional_{what} == src2dst_{what} + dst2src_{what}")
    for side in ("bidirectional", "src2dst", "dst2src"):
        yield from _spread(f"{side}_", "min_ps", "mean_ps", "max_ps")
        yield from _spread(f"{side}_", "min_piat_ms", "mean_piat_ms", "max_piat_ms")
        yield RuleText(f"{side}_bytes == {side}_mean_ps * {side}_packets", ROUNDED)
        yield RuleText(f"{side}_bytes > 0 implies {side}_packets > 0")
        yield RuleText(f"{side}_duration_ms <= bidirectional_duration_ms")
        for flag in TCP_FLAGS:
            yield RuleText(f"{side}_{flag}_packets <= {side}_packets")
            yield RuleText(f"protocol != 6 implies {side}_{flag}_packets == 0")
    for side in ("src", "dst"):
        yield RangeText(f"{side}_port", 0, 65535)


def _cicflowmeter() -> Iterator[RuleText | RangeText]:
    for side in ("fwd", "bwd"):
        yield from _spread(f"{side}_pkt_len_", "min", "mean", "max")
        yield from _spread(f"{side}_iat_", "min", "mean", "max")
        yield RuleText(f"totlen_{side}_pkts == {side}_pkt_len_mean * tot_{side}_pkts", ROUNDED)
        yield RuleText(f"totlen_{side}_pkts > 0 implies tot_{side}_pkts > 0")
        yield RuleText(f"{side}_header_len <= 60 * tot_{side}_pkts")  # a TCP header has at most 60 bytes
        yield RuleText(f"{side}_pkts_s * flow_duration == 1000000 * tot_{side}_pkts", ROUNDED)
        yield RangeText(f"init_{side}_win_byts", -1, 65535)
    yield from _spread("pkt_len_", "min", "mean", "max")
    yield from _spread("flow_iat_", "min", "mean", "max")
    yield from _spread("active_", "min", "mean", "max")
    yield from _spread("idle_", "min", "mean", "max")
    yield RuleText("flow_pkts_s == fwd_pkts_s + bwd_pkts_s", ROUNDED)
    yield RuleText("flow_byts_s * flow_duration == 1000000 * (totlen_fwd_pkts + totlen_bwd_pkts)", ROUNDED)
    yield RuleText("pkt_len_var == pkt_len_std * pkt_len_std", ROUNDED)
    for flag in TCP_FLAGS:
        yield RuleText(f"{flag}_flag_cnt <= tot_fwd_pkts + tot_bwd_pkts")
        yield RuleText(f"protocol != 6 implies {flag}_flag_cnt == 0")
    for side in ("src", "dst"):
        yield RangeText(f"{side}_port", 0, 65535)


def _unsw_nb15() -> Iterator[RuleText | RangeText]:
    yield RuleText("tcprtt == synack + ackdat", ROUNDED)
    yield RuleText("dur > 0 implies rate * dur == spkts + dpkts - 1", ROUNDED)
    for side in ("s", "d"):
        yield RuleText(f"{side}bytes > 0 implies {side}pkts > 0")
        yield RuleText(f"{side}pkts > 0 implies {side}bytes > 0")
        yield RuleText(f"{side}loss <= {side}pkts")
        yield RuleText(f"{side}bytes - {side}pkts <= {side}mean * {side}pkts <= {side}bytes + {side}pkts")  # rounded
        yield RuleText(f"proto != 'tcp' implies {side}win == 0")
        yield RangeText(f"{side}ttl", 0, 255)
        yield RangeText(f"{side}win", 0, 255)
    yield RuleText("proto != 'tcp' implies tcprtt == 0")
    yield RuleText("response_body_len <= dbytes")


def _rt_iot2022() -> Iterator[RuleText | RangeText]:
    for side in ("fwd", "bwd"):
        yield RuleText(f"`{side}_pkts_payload.tot` == `{side}_pkts_payload.avg` * {side}_pkts_tot", ROUNDED)
        yield RuleText(f"`{side}_pkts_payload.tot` > 0 implies {side}_data_pkts_tot > 0")
        yield RuleText(f"{side}_data_pkts_tot <= {side}_pkts_tot")
        sizes = (f"{side}_header_size_min * {side}_pkts_tot", f"{side}_header_size_max * {side}_pkts_tot")
        yield RuleText(f"{sizes[0]} <= {side}_header_size_tot <= {sizes[1]}")
        yield RuleText(f"{side}_pkts_per_sec * flow_duration == {side}_pkts_tot", ROUNDED)
    for prefix in ("fwd_pkts_payload", "bwd_pkts_payload", "flow_pkts_payload", "fwd_iat", "bwd_iat", "flow_iat"):
        yield from _spread(f"{prefix}.", "min", "avg", "max")
    for prefix in ("active", "idle"):
        yield from _spread(f"{prefix}.", "min", "avg", "max")
    yield RuleText("`flow_pkts_payload.tot` == `fwd_pkts_payload.tot` + `bwd_pkts_payload.tot`", ROUNDED)
    yield RuleText("flow_pkts_per_sec == fwd_pkts_per_sec + bwd_pkts_per_sec", ROUNDED)
    yield RuleText("down_up_ratio * fwd_pkts_tot == bwd_pkts_tot", ROUNDED)
    yield RuleText("payload_bytes_per_second * flow_duration == `flow_pkts_payload.tot`", ROUNDED)
    for flag in ("FIN", "SYN", "RST", "ACK", "CWR", "ECE"):
        yield RuleText(f"flow_{flag}_flag_count <= fwd_pkts_tot + bwd_pkts_tot")
        yield RuleText(f"proto != 'tcp' implies flow_{flag}_flag_count == 0")
    for column in ("fwd_init_window_size", "bwd_init_window_size", "fwd_last_window_size", "id.resp_p"):
        yield RangeText(column, 0, 65535)


def _nsl_kdd() -> Iterator[RuleText | RangeText]:
    for prefix in ("", "srv_", "dst_host_", "dst_host_srv_"):
        yield RuleText(f"{prefix}serror_rate + {prefix}rerror_rate <= 1.01")  # both are rounded to a hundredth
        yield RangeText(f"{prefix}serror_rate", 0, 1)
        yield RangeText(f"{prefix}rerror_rate", 0, 1)
    for column in ("same_srv_rate", "diff_srv_rate", "srv_diff_host_rate", "dst_host_same_srv_rate"):
        yield RangeText(column, 0, 1)
    yield RuleText("dst_host_srv_count <= 255")
    yield RangeText("dst_host_count", 0, 255)
    yield RangeText("count", 0, 511)
    yield RangeText("srv_count", 0, 511)
    yield RuleText("root_shell == 1 implies logged_in == 1")
    yield RuleText("is_guest_login == 1 implies logged_in == 1")
    yield RuleText("num_compromised > 0 implies logged_in == 1")
    yield RuleText("protocol_type != 'tcp' implies flag == 'SF'")
    yield RuleText("protocol_type != 'tcp' implies urgent == 0")
    yield RuleText("same_srv_rate == 1 implies diff_srv_rate == 0")


def _ciciot2023() -> Iterator[RuleText | RangeText]:
    yield from _spread("", "Min", "AVG", "Max")
    yield RuleText("Std <= Max - Min")
    yield RuleText("Min == Max implies Std == 0")
    yield RangeText("Time_To_Live", 0, 255)
    for flag in ("fin", "syn", "rst", "psh", "ack", "ece", "cwr"):
        yield RangeText(f"{flag}_flag_number", 0, 1)
        yield RuleText(f"TCP == 0 implies {flag}_flag_number == 0")
    yield RuleText("TCP + UDP + ICMP + IGMP <= 1.000001")


TCP_FLAGS = ("fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr")
RULES_BY_SOURCE = {
    "zeek": tuple(_zeek()),
    "nfstream": tuple(_nfstream()),
    "cicflowmeter": tuple(_cicflowmeter()),
    "unsw-nb15": tuple(_unsw_nb15()),
    "rt-iot2022": tuple(_rt_iot2022()),
    "nsl-kdd": tuple(_nsl_kdd()),
    "ciciot2023": tuple(_ciciot2023()),
}
