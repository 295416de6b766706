"""Logs are read as their tools write them, and a bad line costs that line alone."""

import json
from pathlib import Path

import pytest

import flow_logs
from counterpoise.cli import main
from counterpoise.errors import InputError
from counterpoise.security.logs.flow_csv import rename_to_match
from counterpoise.security.logs.formats import read_log, recognise_format


@pytest.mark.parametrize("name", flow_logs.LOGS)
def test_formats_are_recognised(name: str) -> None:
    kind, write = flow_logs.LOGS[name]
    assert recognise_format(write().splitlines()) == kind


def test_both_forms_of_zeek_say_the_same() -> None:
    cells, objects = (
        read_log(flow_logs.zeek_tsv().splitlines()).table,
        read_log(flow_logs.zeek_json().splitlines()).table,
    )
    for name in objects.columns:
        assert cells[name].tolist() == objects[name].tolist(), name
    assert cells["service"].isna().all()
    assert cells["tunnel_parents"].eq("").all()


def test_a_plain_table_is_no_log() -> None:
    assert recognise_format(["src_ip,protocol,timestamp,label,src_port,dst_port"]) is None
    assert recognise_format(['{"row": 1}']) is None


def test_versions_of_cicflowmeter_meet() -> None:
    assert rename_to_match([" Total Fwd Packets", "x"], ["tot_fwd_pkts", "x"]) == {" Total Fwd Packets": "tot_fwd_pkts"}
    assert rename_to_match(["Tot Fwd Pkts"], ["Tot Fwd Pkts"]) == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("#separator \\x09\n#path\tconn\n1\t2\n", "no #fields line"),
        ("#fields\ta\tb\n#types\tcount\n1\t2\n", "2 fields and 1 types"),
        ("", "has none"),
        ("#fields\ta\n#types\tcount\n", "has none"),
    ],
)
def test_half_a_header_and_an_empty_log_are_refused_in_one_line(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_log(text.splitlines(), "zeek")


def test_another_log_in_the_same_file_is_left_out() -> None:
    other = "#path\tdns\n#fields\tuid\tquery\n#types\tstring\tstring\nC9\ta.example\nC8\tb.example\n"
    found = read_log((flow_logs.zeek_tsv() + other).splitlines())
    assert len(found.table) == len(flow_logs.raised())
    assert [problem.why for problem in found.problems] == ["from here on it is a log of 'dns', not of 'conn'"]


def test_a_header_without_types_is_told_and_read() -> None:
    found = read_log(["#fields\ta", "5"], "zeek")
    assert found.table["a"].tolist() == ["5"]
    assert "no #types" in str(found.problems[0])


EVE_LINE = '{"event_type": "flow", "flow": {"age": 3, "state": "new"}}'


@pytest.mark.parametrize(
    ("age", "told"),
    [
        ("1e999", "'flow.age' is infinite"),
        ("1" + "0" * 400, "'flow.age' is too large"),
        ('"x"', "'flow.age' has 'x', which is no number"),
        ("NaN", "no number that JSON has"),
    ],
)
def test_a_cell_that_is_no_number_costs_its_own_record_alone(age: str, told: str) -> None:
    found = read_log([EVE_LINE, EVE_LINE.replace("3", age), EVE_LINE])
    assert found.table["flow.age"].tolist() == [3, 3]
    assert [problem.line for problem in found.problems] == [2]
    assert told in str(found.problems[0])


def test_a_log_whose_first_line_is_cut_is_recognised_by_the_next() -> None:
    assert recognise_format([EVE_LINE[:9], EVE_LINE]) == "eve"
    assert read_log([EVE_LINE[:9], EVE_LINE]).lines == (2,)


def test_json_records_of_another_log_of_zeek_are_left_out() -> None:
    records = [{"_path": path, "ts": 1, "uid": "C", "n": n} for n, path in enumerate(["conn", "dns", "conn"], start=1)]
    found = read_log(map(json.dumps, records))
    assert found.table["n"].tolist() == [1, 3]
    assert "'dns'" in str(found.problems[0])


@pytest.mark.parametrize("kind", ["zeek", "nfstream"])
def test_underscores_are_no_part_of_a_number(kind: str) -> None:
    head = ["#fields\tn", "#types\tcount"] if kind == "zeek" else ["n"]
    found = read_log([*head, "62", "6_2", "63"], kind)
    assert found.table["n"].tolist() == [62, 63]


def test_columns_of_one_name_are_told() -> None:
    found = read_log(["src_ip,src2dst_packets,src2dst_packets", "10.0.0.1,5,6"])
    assert "'src2dst_packets'" in str(found.problems[0])


def _explain(folder: Path, log: str, text: str, *more: str) -> tuple[int, list[str]]:
    import joblib

    table, label = flow_logs.training()
    table.assign(label=label).to_csv(folder / "train.csv", index=False)
    joblib.dump(flow_logs.detector(), folder / "model.pkl")
    (folder / log).write_text(text, encoding="utf-8")
    kind = flow_logs.LOGS[log][0]
    (folder / "map.yaml").write_text(flow_logs.mapping_text(kind), encoding="utf-8")
    model = ["-m", str(folder / "model.pkl"), "--trust", "-d", str(folder / "train.csv"), "-l", "label"]
    rows = ["-r", str(folder / log), "--mapping", str(folder / "map.yaml"), "-o", str(folder / "out.ndjson")]
    with pytest.raises(SystemExit) as ended:
        main(["explain", *model, *rows, "-t", "benign", *more])
    lines = (folder / "out.ndjson").read_text().splitlines() if (folder / "out.ndjson").exists() else []
    return int(ended.value.code or 0), lines


@pytest.mark.parametrize("log", flow_logs.LOGS)
def test_a_broken_line_is_told_and_the_rest_is_answered(
    tmp_path: Path, log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = flow_logs.LOGS[log][1]().splitlines()
    broken = len(lines) - 3
    lines[broken] = lines[broken][: len(lines[broken]) // 2]
    code, answers = _explain(tmp_path, log, "\n".join(lines) + "\n")
    assert code == 1
    assert len(answers) == len(flow_logs.raised()) - 1
    told = [
        line for line in capsys.readouterr().err.splitlines() if "left out" in line and f"line {broken + 1}:" in line
    ]
    assert len(told) == 1


def test_a_log_of_another_kind_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, answers = _explain(tmp_path, "eve.json", flow_logs.eve(), "--format", "zeek")
    assert (code, answers) == (2, [])
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_a_field_that_the_log_does_not_have_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = flow_logs.eve().replace("pkts_toserver", "packets_toserver")
    code, answers = _explain(tmp_path, "eve.json", text)
    assert (code, answers) == (2, [])
    told = capsys.readouterr().err.strip().splitlines()[-1]
    assert "did you mean 'flow.packets_toserver'" in told
