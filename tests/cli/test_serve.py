"""counterpoise serve, as a person starts it: a process of its own, on a log as the tool wrote it."""

import subprocess
import sys
from pathlib import Path

import httpx
import joblib

import flow_logs


def test_a_log_is_served_with_its_broken_lines_told(tmp_path: Path) -> None:
    table, label = flow_logs.training()
    table.assign(label=label).to_csv(tmp_path / "train.csv", index=False)
    joblib.dump(flow_logs.detector(), tmp_path / "model.pkl")
    whole = flow_logs.zeek_tsv()
    (tmp_path / "conn.log").write_text(whole + "half\ta line\n", encoding="utf-8")
    (tmp_path / "map.yaml").write_text(flow_logs.mapping_text("zeek"), encoding="utf-8")
    command = [sys.executable, "-m", "counterpoise", "serve", "-m", "model.pkl", "--trust", "-d", "train.csv"]
    command += ["-l", "label", "-r", "conn.log", "--mapping", "map.yaml", "-t", "benign", "--id", "uid"]
    process = subprocess.Popen(
        [*command, "--flow-rules", "any"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        base = address.partition("/?")[0]
        with httpx.Client(base_url=base, headers={"origin": base}, follow_redirects=True, timeout=60) as client:
            assert client.get(address).status_code == 200
            found = client.post("/api/list", json={}).json()
            assert found["total"] == len(flow_logs.raised())
            assert client.post("/api/list", json={"search": "192.168.4.7"}).json()["matching"] > 0
            words = client.post("/api/setup", json={}).json()["constraints"]
            assert any("spkts" in word for word in words)
    finally:
        process.terminate()
        _, notes = process.communicate(timeout=60)
    assert "left out" in notes
    assert "Traceback" not in notes
