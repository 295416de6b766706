"""What `make demo` runs: writes out/demo.html and out/demo.png, and keeps the picture for the README in docs/.

The code is in `counterpoise.cli.demo`; `counterpoise demo` runs it too.
"""

import shutil
from pathlib import Path

from counterpoise.cli.demo import run_demo

ROOT = Path(__file__).parents[1]


if __name__ == "__main__":
    run_demo(ROOT / "out")
    shutil.copyfile(ROOT / "out" / "demo.png", ROOT / "docs" / "demo.png")
