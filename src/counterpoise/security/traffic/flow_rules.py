"""flow_rules: the rules of traffic that a table's columns are known for, as constraints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from counterpoise.errors import InputError
from counterpoise.readable import Readable, Summary
from counterpoise.security.logs.flow_csv import common_name
from counterpoise.security.traffic.rule_texts import RULES_BY_SOURCE, RangeText, RuleText
from counterpoise.space.constraints.between_features import Rule
from counterpoise.space.constraints.draft import Draft
from counterpoise.space.constraints.words import Constraint, Immutable, Mutable, Range
from counterpoise.space.discover.discover import discover_strict
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array

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
    """The side that controls a column; None if unknown.

    >>> side_of("sbytes"), side_of("Tot Bwd Pkts"), side_of("proto"), side_of("colour")
    ('sender', 'receiver', 'given', None)
    """
    name = common_name(column) or column.strip()
    return next((side for side, pattern in _COMPILED if pattern.fullmatch(name)), None)


NAME_IN_RULE = re.compile(r"`([^`]+)`|'[^']*'|\b([A-Za-z_][\w]*)\b")
RULE_WORDS = {"implies", "and", "or", "not", "in", "min", "max", "abs"}


class TrafficRule(NamedTuple):
    """A rule of traffic: whose columns it names, the constraint, and the share of reference rows that obey it."""

    source: str
    constraint: Constraint
    share: float  # NaN where there is no reference
    binds: bool  # whether it is among the constraints


@dataclass(frozen=True, repr=False)
class FlowRules(Readable):
    """The rules of traffic for the columns of a schema; `constraints` are those that bind answers."""

    rules: tuple[TrafficRule, ...]
    mutability: tuple[Constraint, ...]

    @property
    def constraints(self) -> list[Constraint]:
        """What to give as ``constraints``: the rules that bind, and what may change at all."""
        return [*(rule.constraint for rule in self.rules if rule.binds), *self.mutability]

    @property
    def table(self) -> pd.DataFrame:
        """A line a rule: source, rule, share, binds."""
        lines = [(rule.source, repr(rule.constraint), rule.share, rule.binds) for rule in self.rules]
        return pd.DataFrame(lines, columns=["source", "rule", "share", "binds"])

    def summarize(self) -> Summary:
        """The rules, the share of the reference that obeys each, and whether it binds."""
        lines = [
            (rule.source, repr(rule.constraint), "" if np.isnan(rule.share) else f"{rule.share:.2%}", str(rule.binds))
            for rule in self.rules
        ]
        fixed = "; ".join(map(repr, self.mutability))
        title = f"{sum(rule.binds for rule in self.rules)} of {len(self.rules)} rules of traffic bind; {fixed}"
        return Summary(title, ("source", "rule", "holds in", "binds"), lines)


def flow_rules(
    schema: Schema,
    reference: pd.DataFrame | None = None,
    *,
    changeable: Changeable | None = None,
    share: float = 0.99,
) -> FlowRules:
    """Rules of traffic for columns as Zeek, NFStream, CICFlowMeter, UNSW-NB15, RT-IoT2022 and NSL-KDD name them.

    Sums, means between minima and maxima, rates, no bytes without packets, header sizes, ranges of ports and TTL, flags
    only with TCP; each only where its columns exist. With ``reference`` a rule binds if at least ``share`` of its rows
    obey it, and the relations that all of them obey are added; a row that breaks a rule itself is not bound by it.

    schema: the columns.
    reference: rows of traffic, a frame; None: every rule whose columns exist binds.
    share: of the reference rows that must obey a rule, between 0 and 1; 0.99 by default.
    changeable: None fixes protocols, ports, services and addresses; "attacker" frees only what a sender decides, and
    what follows from it; "operator" only what the receiver's side does.

    >>> table = pd.DataFrame({"spkts": [1, 2], "sbytes": [60, 0], "proto": ["tcp", "udp"], "sttl": [64, 255]})
    >>> found = flow_rules(Schema.infer(table), table)
    >>> [(repr(rule.constraint), rule.share, rule.binds) for rule in found.rules][1]
    ("Rule('spkts > 0 implies sbytes > 0', relax=True)", 0.5, False)
    >>> found.mutability
    (Immutable('proto'),)
    """
    if changeable is not None and changeable not in get_args(Changeable):
        raise InputError('changeable must be "attacker" or "operator"', f"{changeable!r}", "choose one, or None")
    if not 0 < share <= 1:
        raise InputError("share must be above 0 and at most 1", f"{share!r}", "for instance 0.99")
    x = None if reference is None else encode(schema, reference, "reference row")
    rules = []
    for source, constraint in _list_constraints(schema):
        held = float("nan") if x is None else _share_held(constraint, schema, x)
        rules.append(TrafficRule(source, constraint, held, bool(np.isnan(held) or held >= share)))
    if reference is not None:
        # a rule of ours on a column takes the place of what an Explainer would discover about it, so both are given
        seen = {repr(rule.constraint) for rule in rules}
        learned = [found for found in discover_strict(reference, schema) if repr(found.constraint) not in seen]
        rules += [TrafficRule("reference", found.constraint, found.holds, True) for found in learned]
    return FlowRules(tuple(rules), _limit_changes(schema, changeable))


def _list_constraints(schema: Schema) -> Iterator[tuple[str, Constraint]]:
    """Each rule whose columns the schema has, once, with the schema's own names."""
    table_names = {str(name): str(name) for name in schema.names}
    numeric = {str(feature.name) for feature in schema if feature.is_numeric}
    cic = {common_name(name): name for name in table_names if common_name(name) is not None}
    seen: set[str] = set()
    for source, texts in RULES_BY_SOURCE.items():
        names = (
            {**table_names, **{str(key): value for key, value in cic.items()}}
            if source == "cicflowmeter"
            else table_names
        )
        for text in texts:
            constraint = _write_constraint(text, names, numeric)
            if constraint is not None and repr(constraint) not in seen:
                seen.add(repr(constraint))
                yield source, constraint


def _write_constraint(text: RuleText | RangeText, names: dict[str, str], numeric: set[str]) -> Constraint | None:
    if isinstance(text, RangeText):
        column = names.get(text.column)
        return None if column is None or column not in numeric else Range(column, text.low, text.high)
    is_known = True

    def rename(found: re.Match[str]) -> str:
        nonlocal is_known
        name = found[1] or found[2]
        if name is None or name in RULE_WORDS:
            return found[0]
        column_name = names.get(name, "")
        is_text = f"{name} != '" in text.text or f"{name} == '" in text.text
        is_known &= bool(column_name) and (column_name in numeric) != is_text
        return column_name if column_name.isidentifier() else f"`{column_name or name}`"

    written = NAME_IN_RULE.sub(rename, text.text)
    return Rule(written, tolerance=text.tolerance, relax=True) if is_known else None


def _share_held(constraint: Constraint, schema: Schema, x: Array) -> float:
    """The share of encoded rows ``(p, d)`` that obey a constraint."""
    if isinstance(constraint, Range):
        cells = x[:, schema.position(constraint.name)]
        low, high = constraint.low, constraint.high
        good = (np.isnan(cells) | (cells >= low)) & (np.isnan(cells) | (high is None) | (cells <= (high or 0)))
        return float(good.mean())
    draft = Draft.make_blank(schema, x[:1])
    constraint.apply(draft)
    with np.errstate(all="ignore"):
        return float(np.mean([np.broadcast_to(each.holds(x.T, x.T), len(x)).mean() for each in draft.relations]))


def _limit_changes(schema: Schema, changeable: Changeable | None) -> tuple[Constraint, ...]:
    sides = {name: side_of(str(name)) for name in schema.names}
    if changeable is None:
        given = [name for name, side in sides.items() if side == "given"]
        return (Immutable(*given),) if given else ()
    free = [name for name, side in sides.items() if side in SIDES_OF[changeable]]
    if not free:
        raise InputError(
            f"a table must have columns that the {changeable} can change",
            f"none of {', '.join(map(str, sides))} is known to be",
            "leave changeable out and say what may change with cp.Mutable",
        )
    return (Mutable(*free),)
