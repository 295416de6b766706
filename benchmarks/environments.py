"""An environment for each peer, laid over this one: same numpy and scikit-learn, so one model file serves all."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

ENVIRONMENTS = Path(__file__).parent / ".envs"
SMOOTH_TASKS = ("logistic", "mlp", "wide", "nice-wdbc-ann")  # a scaler and weights that torch can have
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Peer:
    """What to install, and the settings that its runner ``peers/<name>.py`` knows.

    ``alone`` is installed without its dependencies, where those would pull in what is there already under another
    name or what does not run on numpy 2.
    """

    name: str
    settings: tuple[str, ...]
    install: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    slow: tuple[str, ...] = ()  # settings left out of the quick run
    smooth: tuple[str, ...] = ()  # settings that need the model's weights: for SMOOTH_TASKS alone

    def settings_for(self, task: str, quick: bool) -> tuple[str, ...]:
        """What is asked of it on a task."""
        left_out = {*(self.slow if quick else ()), *(() if task in SMOOTH_TASKS else self.smooth)}
        return tuple(setting for setting in self.settings if setting not in left_out)


class NotMade(Exception):
    """The environment could not be made, and why."""


def python_of(peer: Peer) -> Path:
    """The interpreter of the peer's environment, made at its first use and again when the list of packages changes."""
    folder = ENVIRONMENTS / peer.name
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    wanted = hashlib.sha256(repr((sys.version, peer.install, peer.alone)).encode()).hexdigest()
    stamp = folder / "made"
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    _lay_over(python)
    for packages, options in ((peer.alone, ["--no-deps"]), (peer.install, [])):
        if packages:
            _install(python, [*options, *packages])
    stamp.write_text(wanted)
    return python


def _lay_over(python: Path) -> None:
    """Packages of this environment are found after the peer's own; what is installed in development mode is not."""
    found = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    below = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (Path(found.stdout.strip()) / "below.pth").write_text("\n".join(sorted(below)) + "\n")


def _install(python: Path, what: list[str]) -> None:
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-qq", "--disable-pip-version-check"]
    try:
        done = subprocess.run([*pip, *what], capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired as error:
        raise NotMade("pip took more than 600 s") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "ERROR" in line] or done.stderr.splitlines()
        raise NotMade("pip: " + (lines[-1] if lines else f"exit {done.returncode}")[:200])


ATTACKS = ("ddn-100", "ddn-1000", "deepfool", "fmn-100", "brendel-bethge")
PEERS = (
    Peer("nice", ("nice-proximity", "nice-sparsity", "nice-proximity-std", "nice-sparsity-std"), alone=("NICEx",)),
    Peer(
        "foolbox",
        ATTACKS,
        install=("foolbox", "torch==2.13.0"),
        slow=("ddn-1000", "brendel-bethge"),
        smooth=ATTACKS,
    ),
    Peer(
        "hopskipjump",
        ("hopskipjump", "hopskipjump-10", "hopskipjump-nearest"),
        install=("adversarial-robustness-toolbox",),
        slow=("hopskipjump-nearest",),
    ),
    Peer("lime", ("lime-step",), install=("lime",)),
    Peer(
        "dice",
        ("dice-random", "dice-genetic", "dice-gradient"),
        install=("jsonschema", "tqdm", "requests", "torch==2.13.0"),
        alone=("dice-ml", "raiutils"),
        slow=("dice-gradient",),
        smooth=("dice-gradient",),
    ),
)
