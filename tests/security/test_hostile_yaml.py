"""Mappings of logs and tables of techniques that mean harm: each ends in an error of ours, and runs nothing."""

from pathlib import Path

from hostile import is_refused, outcomes

LAUGHS = "l0: &l0 [a, a, a, a, a, a, a, a, a]\n" + "".join(
    f"l{n + 1}: &l{n + 1} [{', '.join([f'*l{n}'] * 9)}]\n" for n in range(9)
)
HOSTILE = {
    "laughs": f"columns:\n  dur:\n    field: [&l0 [a, a], {', '.join(['*l0'] * 9)}]\n",
    "many laughs": LAUGHS + "columns: {dur: *l9}\n",
    "laughs alone": "columns: {dur: [" + "".join(f"&l{n} [" for n in range(30)) + "]" * 30 + ", *l0, *l0]}\n",
    "a column of laughs": "columns:\n  dur: &l0 [a, a, a, a]\n"
    + "".join(f"  c{n}: &l{n + 1} [{', '.join([f'*l{n}'] * 9)}]\n" for n in range(9)),
    "in itself": "columns: &a {dur: *a}\n",
    "deep lists": "columns: " + "[" * 100_000,
    "a number of a million digits": "columns: {dur: {field: a, scale: " + "1" * 10**6 + "}}\n",
    "a scale that no double holds": "columns: {dur: {field: a, scale: " + "1" * 900 + "}}\n",
    "a call": "columns: !!python/object/apply:os.system [touch sprung]\n",
    "no text": "columns: \x00\n",
    "nothing": "- a\n",
}


def test_no_file_of_a_log_or_a_finding_takes_much_or_runs_code(tmp_path: Path) -> None:
    for number, text in enumerate(HOSTILE.values()):
        (tmp_path / f"{number}.yaml").write_text(text, encoding="utf-8")
    for opener, honest in (("mapping", "columns: {dur: duration}\n"), ("attacks", "ddos: [T1498]\n")):
        (tmp_path / "honest.yaml").write_text(honest, encoding="utf-8")
        asked = [(opener, tmp_path / f"{number}.yaml") for number in range(len(HOSTILE))]
        for name, outcome in zip(HOSTILE, outcomes(asked, tmp_path, [(opener, tmp_path / "honest.yaml")]), strict=True):
            assert is_refused(outcome), (opener, name, outcome)
    assert not (Path.cwd() / "sprung").exists()
