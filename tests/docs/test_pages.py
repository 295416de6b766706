"""Every block of code on every page runs as printed, and prints what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.page_blocks import read_blocks, run_page

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if "gallery" not in path.parts)
PAGES.append(ROOT / "README.md")
RUN = {"python", "console"}
NEEDS = {"models.md": ("lightgbm", "torch", "onnxruntime", "skl2onnx")}  # pages about libraries that are extras
INSTALLS = {"install.md", "README.md"}  # whose lines for a shell need a network


def _languages(path: Path) -> set[str]:
    return {block.language for block in read_blocks(path.read_text(encoding="utf-8"))}


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", [path for path in PAGES if _languages(path) & RUN], ids=_name)
def test_a_page_runs_as_printed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in NEEDS.get(page.name, ()):
        pytest.importorskip(library)
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    assert [str(found) for found in run_page(page, tmp_path)] == []


def test_no_code_is_hidden_from_the_runner() -> None:
    odd = {"py", "sh", "shell", "pycon", "ipython"}
    assert {_name(path): found for path in PAGES if (found := _languages(path) & odd)} == {}
    assert {path.name for path in PAGES if "bash" in _languages(path)} <= INSTALLS


@pytest.mark.parametrize("page", [*PAGES[:-1], *sorted(ROOT.glob("*.md"))], ids=_name)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    there = [link for link in links if not link.startswith(("http:", "https:", "mailto:"))]
    written = [link for link in there if "gallery/" not in link]  # that folder is made by the build, which checks it
    assert [link for link in written if not (page.parent / link).exists()] == []
