"""A folder of answers: one Parquet file a part, a manifest beside them, and a mark at the end; it can be resumed.

pandas, pyarrow and Spark read the folder as one table, for they leave out names that begin with an underscore. A part
is there whole or not at all; its line in the manifest says what it was made from, so that a later run can leave it out.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from counterpoise.api.agreement import adapt_models
from counterpoise.api.assemble import package_versions
from counterpoise.api.batch.make_question import make_question
from counterpoise.api.evidence import fingerprint
from counterpoise.api.explainer import Explainer
from counterpoise.api.inputs.reference import PROBE_ROWS
from counterpoise.errors import CounterpoiseError, InputError
from counterpoise.explanation.fields import REJECTED, STATUSES_WITH_ANSWER
from counterpoise.explanation.question import Question
from counterpoise.scale.answer_table import carry_column, explain_rows, tabulate_answers
from counterpoise.scale.files import replace_file, sync
from counterpoise.scale.part_summary import count_changes

MANIFEST, SUCCESS = "_manifest.jsonl", "_SUCCESS"
NEEDED = {"input", "first", "rows", "answered", "firm", "rejected", "changes", "seconds"}  # of a part's line
CALL_ONLY = ("on_error", "n_jobs", "progress", "budget")  # settings that no answer depends on


@dataclass
class FolderProgress:
    """What a run made of a folder: parts, rows, answers, rejected rows; of these, parts that were there already.

    firm: rows whose answer surely keeps the share of noisy copies that was asked for; where none was, those with one.
    """

    parts: int = 0
    skipped: int = 0
    rows: int = 0
    answered: int = 0
    firm: int = 0
    rejected: int = 0
    seconds: float = field(default=0.0, compare=False)

    def add(self, line: Mapping[str, Any], *, skipped: bool) -> None:
        """Count a part by its line in the manifest."""
        self.parts, self.skipped = self.parts + 1, self.skipped + int(skipped)
        self.rows, self.answered = self.rows + line["rows"], self.answered + line["answered"]
        self.firm += line["firm"]
        self.rejected, self.seconds = self.rejected + line["rejected"], self.seconds + line["seconds"]


def explain_to_folder(
    explainer: Explainer,
    parts: Iterable[pd.DataFrame],
    folder: str | Path,
    *,
    resume: bool = False,
    tell: Callable[[FolderProgress], None] | None = None,
    **settings: Any,
) -> FolderProgress:
    """Write the answers to frames of rows, part after part, into a folder.

    explainer: the model with its reference and constraints.
    parts: the rows, frame by frame; each becomes one file, and is in memory alone.
    folder: where to; it must be new or empty, unless ``resume`` is given.
    resume: leave out parts whose rows are the same as when they were written. An error names what else differs: the
        model, the question, the reference or the code. False by default.
    tell: called after each part with what was done so far.
    settings: those of a call of the explainer.

    The answers do not depend on how often the work was ended and resumed. Answers are read back by `read_folder`.
    """
    place = Path(folder)
    book = _Manifest(place, describe_run(explainer, settings), resume=resume)
    progress = FolderProgress()
    nothing = pd.DataFrame(columns=list(explainer.schema.names), dtype=object)
    for number, frame in _enumerate_parts(parts, nothing):
        name, print_of_rows = f"part-{number:05d}.parquet", fingerprint_rows(frame)
        line = book.find(name, print_of_rows, progress.rows)
        skipped = line is not None
        if line is None:
            line = {**write_part(explainer, frame, progress.rows, settings, place / name), **book.hashes}
            book.append(line)
        progress.add(line, skipped=skipped)
        if tell is not None:
            tell(progress)
    book.finish(progress.parts)
    return progress


def _enumerate_parts(parts: Iterable[pd.DataFrame], nothing: pd.DataFrame) -> Iterator[tuple[int, pd.DataFrame]]:
    """The parts with their numbers; of no parts, one without rows, so that the folder can be read as a table."""
    number = -1
    for number, frame in enumerate(parts):
        yield number, frame
    if number < 0:
        yield 0, nothing


def write_part(
    explainer: Explainer, frame: pd.DataFrame, first: int, settings: Mapping[str, Any], path: Path
) -> dict[str, Any]:
    """Write the answers to a frame of rows, of which ``first`` rows went before; gives its line in the manifest."""
    start = time.perf_counter()
    explanation = explain_rows(explainer, frame, **settings)
    table = tabulate_answers(explainer, explanation, first=first)
    with replace_file(path) as temporary:
        table.to_parquet(temporary, index=False)
    status = table.loc[table["cp_alternative"] == 0, "cp_status"]
    return {
        "part": path.name,
        "status": "done",
        "input": fingerprint_rows(frame),
        "first": first,
        "rows": len(frame),
        "lines": len(table),
        "answered": int(status.isin(STATUSES_WITH_ANSWER).sum()),
        "firm": int(explanation.is_firm_enough.sum()),
        "rejected": int((status == REJECTED).sum()),
        "changes": count_changes(explanation),
        "seconds": round(time.perf_counter() - start, 3),
    }


def read_folder(folder: str | Path) -> pd.DataFrame:
    """The table of answers in a folder that `explain_to_folder` has filled.

    folder: the folder.
    """
    return pd.read_parquet(Path(folder))


def fingerprint_rows(frame: pd.DataFrame) -> str:
    """A hash of the rows of a frame: their labels, columns, types and cells."""
    plain = frame.apply(carry_column) if len(frame) else frame
    words = json.dumps([[str(name), str(dtype)] for name, dtype in plain.dtypes.items()])
    cells = pd.util.hash_pandas_object(plain, index=True).to_numpy().tobytes() if len(frame) else b""
    return hashlib.sha256(words.encode() + cells).hexdigest()[:32]


def describe_run(explainer: Explainer, settings: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """What answers depend on beside the rows: the question, the model's own answers, the reference and the code."""
    asked = {name: value for name, value in settings.items() if name not in (*CALL_ONLY, "agree")}
    reference = hashlib.sha256(explainer.reference.x.tobytes() + repr(explainer.schema.features).encode()).hexdigest()
    return {
        "question": describe_question(make_question(explainer, **asked)),
        "model": {"answers": explainer.fingerprint, **_describe_others(explainer, settings.get("agree", ()))},
        "reference": {"rows": reference[:32]},
        "code": dict(package_versions()),
    }


def describe_question(question: Question) -> dict[str, str]:
    """A question as a manifest has it."""
    words = {**question.settings, "seed": str(question.seed), "kept": str(question.kept)}
    return {**words, "relations": "; ".join(map(repr, question.relations))}


def name_differences(before: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]]) -> str:
    """What differs between two runs, in words, the first three; "" where nothing does."""
    differs = [
        f"{name} {key} was {was.get(key, 'not given')!r} and is {words.get(key, 'not given')!r}"
        for name, words in now.items()
        for was in [before.get(name, {})]
        for key in {**was, **words}
        if was.get(key) != words.get(key)
    ]
    return "; ".join(differs[:3]) + (f"; and {len(differs) - 3} more" if len(differs) > 3 else "")


def read_manifest(path: Path) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, Any]]]:
    """What the answers of a folder depend on, and the line of each part by its name; nothing where no line is whole."""
    whole = path.read_bytes()
    try:
        # a line that was being written when the run was killed is none
        lines = [json.loads(line) for line in whole[: whole.rfind(b"\n") + 1].splitlines()]
        return (lines[0]["run"] if lines else {}), {line["part"]: line for line in lines[1:]}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            "a manifest must have a line of JSON for each part", f"{str(path)!r}: {error!r}", "choose another folder"
        ) from None


def _describe_others(explainer: Explainer, models: Sequence[Any]) -> dict[str, str]:
    """What further models say of reference rows, as hashes; one that cannot be asked is known by its place alone."""
    rows = explainer.reference.sample_rows(PROBE_ROWS)
    found = {}
    for place, other in enumerate(adapt_models(models, explainer.schema, rows)):
        try:
            found[f"agree {place}"] = "" if other.model is None else fingerprint(other.model, rows)
        except CounterpoiseError:
            found[f"agree {place}"] = ""
    return found


def list_answers(folder: Path) -> list[str]:
    """The names of what a folder holds, but for temporary files of a run that was killed."""
    return [path.name for path in folder.iterdir() if not path.name.startswith(".partial")]


def remove_partial_files(folder: Path) -> None:
    """Remove what runs or workers that were killed left half written in a folder of parts."""
    for path in folder.glob(".partial*"):
        path.unlink(missing_ok=True)


class _Manifest:
    """The lines of a manifest; the first says what the answers depend on, each other what a part was made from."""

    def __init__(self, folder: Path, run: dict[str, dict[str, str]], *, resume: bool) -> None:
        self.folder, self.path, self.run = folder, folder / MANIFEST, run
        self.hashes = {
            name: hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:16]
            for name, part in run.items()
        }
        folder.mkdir(parents=True, exist_ok=True)
        there = list_answers(folder)
        if there and not resume:
            raise InputError(
                "the folder of answers must be new or empty", f"{str(folder)!r} has {there[0]!r}", "give --resume"
            )
        self.lines: dict[str, dict[str, Any]] = {}
        if self.path.exists():
            self._read()
        elif there:
            raise InputError(
                "a folder to resume must have a manifest", f"{str(folder)!r} has none", "choose another folder"
            )
        else:
            self.append({"run": run})
        remove_partial_files(folder)
        (folder / SUCCESS).unlink(missing_ok=True)

    def _read(self) -> None:
        before, self.lines = read_manifest(self.path)
        whole = self.path.read_bytes()
        end = whole.rfind(b"\n") + 1
        if end < len(whole):
            os.truncate(self.path, end)
        if not before:
            self.append({"run": self.run})
        elif differs := name_differences(before, self.run):
            raise InputError(
                "a run can be resumed with the same question, model, reference and code",
                differs,
                "ask as before, or choose another folder",
            )

    def find(self, name: str, print_of_rows: str, first: int) -> dict[str, Any] | None:
        """The line of a part that is there and was made from these rows, in this place."""
        line = self.lines.get(name)
        if line is None or not (self.folder / name).is_file() or not line.keys() >= NEEDED:
            return None
        return line if (line["input"], line["first"]) == (print_of_rows, first) else None

    def append(self, line: dict[str, Any]) -> None:
        """Write a line, down to the disk."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        sync(self.folder)

    def finish(self, parts: int) -> None:
        """Take away parts of an input that has become shorter, and mark the folder as complete."""
        for path in sorted(self.folder.glob("part-*.parquet"))[parts:]:
            path.unlink()
        (self.folder / SUCCESS).touch()
        sync(self.folder)
