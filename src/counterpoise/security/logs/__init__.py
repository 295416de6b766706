"""Logs of network tools as tables: Zeek, Suricata EVE, NFStream, CICFlowMeter; bad lines are told one by one."""
