"""Tools of a security operations centre: logs in, rules of traffic, findings out, groups of alerts."""

from counterpoise.security.findings.writers import write_findings as write_findings
from counterpoise.security.logs.formats import read_log as read_log
from counterpoise.security.traffic.flow_rules import flow_rules as flow_rules

__all__ = ["flow_rules", "read_log", "write_findings"]
