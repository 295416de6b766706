"""Code blocks of a Markdown page, executed in order; what they print is held against what the page prints.

`python` blocks share one namespace (those that begin with >>> are doctests), `console` blocks are a shell's lines after
`$ `; both run in one empty folder. A block `output` is what the block before it prints; `...` stands for anything.

python tests/docs/page_blocks.py docs/start/reading.md    # writes what is printed today into the page
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and where its text begins and ends in the page."""

    language: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Mismatch:
    """What a block printed where the page says something else."""

    block: Block
    printed: str

    def __str__(self) -> str:
        return f"the page says:\n{self.block.text}\nit prints:\n{self.printed}"


def read_blocks(text: str) -> list[Block]:
    """Every fenced block of a page, in order."""
    return [Block(found[1], found[2], found.start(2), found.end(2)) for found in FENCE.finditer(text)]


def run_page(path: Path, folder: Path) -> list[Mismatch]:
    """Run the blocks of a page inside a folder; give those whose output differs. What raises, raises."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    wrong: list[Mismatch] = []
    with contextlib.chdir(folder):
        for block in read_blocks(path.read_text(encoding="utf-8")):
            if block.language == "python" and block.text.startswith(">>>"):
                _run_doctest(block, names, path)
            elif block.language == "python":
                printed = _run_python(block, names, path)
            elif block.language == "console":
                wrong += _run_console(block)
            elif block.language == "output" and not _agrees(block.text, printed):
                wrong.append(Mismatch(block, printed))
            elif block.language == "yaml" and (name := re.match(r"# (\S+\.yaml)\n", block.text)):
                Path(name[1]).write_text(block.text, encoding="utf-8")
    return wrong


def _agrees(said: str, printed: str) -> bool:
    return doctest.OutputChecker().check_output(said.strip() + "\n", printed.strip() + "\n", FLAGS)


def _run_python(block: Block, names: dict[str, Any], path: Path) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block.text, str(path), "exec", dont_inherit=True), names)
    return out.getvalue()


def _run_doctest(block: Block, names: dict[str, Any], path: Path) -> None:
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    example = doctest.DocTestParser().get_doctest(block.text, names, f"{path.name}, {block.start}", str(path), 0)
    runner.run(example, out=said.append, clear_globs=False)
    names.update(example.globs)
    if runner.failures:
        raise AssertionError("".join(said))


def _run_console(block: Block) -> list[Mismatch]:
    """Each line after `$ ` (with its continuations) in a shell; the lines up to the next are its output."""
    shown, agree = "", True
    for command, said in re.findall(r"^\$ (.*?(?:\\\n.*?)*)\n((?:(?!\$ ).*\n)*)", block.text, flags=re.MULTILINE):
        done = subprocess.run(
            ["bash", "-c", command],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "COLUMNS": "110", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        )
        printed = "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())
        shown += f"$ {command}\n{printed}"
        agree = agree and _agrees(said, printed)
    return [] if agree else [Mismatch(block, shown)]


def write_outputs(path: Path) -> None:
    """Put what is printed today into the page's `output` and `console` blocks."""
    with tempfile.TemporaryDirectory() as folder:
        wrong = run_page(path.resolve(), Path(folder))
    text = path.read_text(encoding="utf-8")
    for found in reversed(wrong):
        said = "\n".join(line.rstrip() for line in found.printed.strip("\n").splitlines())
        text = text[: found.block.start] + said + "\n" + text[found.block.end :]
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write_outputs(Path(name))
