"""Whose a column of a flow is: the sender's, the receiver's, both sides', or given with the flow."""

from __future__ import annotations

import re
from typing import Literal

from counterpoise.security.logs.cic_names import common_name

Side = Literal["given", "sender", "receiver", "both"]
Changeable = Literal["attacker", "operator"]
SIDES_OF: dict[str, tuple[Side, ...]] = {"attacker": ("sender", "both"), "operator": ("receiver", "both")}

# The first that fits counts. Names of Zeek, NFStream, CICFlowMeter, UNSW-NB15, RT-IoT2022, NSL-KDD and CICIoT2023.
PATTERNS: tuple[tuple[Side, str], ...] = (
    ("given", r"proto(col)?( type|_type|_name)?|transport|ip_version|ipv|llc|vlan_id|direction|land|is_sm_ips_ports"),
    ("given", r"(src|dst|source|destination)[ _]?(ip|port|mac|oui)|id\.(orig|resp)_[hp]"),
    ("given", r"service|app_proto|application_(category_)?name"),
    ("given", r"https?|dns|telnet|smtp|ssh|irc|dhcp|arp|icmp|igmp|tcp|udp"),
    ("sender", r"(fwd|src2dst|orig)_.*|.*_fwd_.*|s(pkts|bytes|ttl|load|loss|inpkt|jit|win|mean)|src_bytes"),
    ("receiver", r"(bwd|dst2src|resp)_.*|.*_bwd_.*|d(pkts|bytes|ttl|load|loss|inpkt|jit|win|mean)|dst_bytes|ackdat"),
    ("receiver", r"response_body_len|logged_in|root_shell|su_attempted|is_guest_login"),
    ("both", r"dur|duration|flow_duration|.*duration_ms|rate|(flow|bidirectional|active|idle|payload|pkt|down)_?.*"),
    ("both", r"(active|idle|flow_iat|flow_pkts_payload)\..*|ct_.*|.*(count|rate)|tcprtt|synack|trans_depth"),
    ("both", r"state|flag|conn_state|history|.*_flag_(number|cnt)|header_length|time_to_live|min|max|avg|std|iat"),
    ("both", r"hot|urgent|wrong_fragment|num_.*|is_ftp_login|missed_bytes"),
)
_COMPILED = tuple((side, re.compile(pattern, re.IGNORECASE)) for side, pattern in PATTERNS)


def side_of(column: str) -> Side | None:
    """Whose a column is; None for one that is not known.

    >>> side_of("sbytes"), side_of("Tot Bwd Pkts"), side_of("proto"), side_of("colour")
    ('sender', 'receiver', 'given', None)
    """
    name = common_name(column) or column.strip()
    return next((side for side, pattern in _COMPILED if pattern.fullmatch(name)), None)
