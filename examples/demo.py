"""What `make demo` runs: writes out/demo.html and out/demo.png.

The code is in `counterpoise.cli.demo`; `counterpoise demo` runs it too.
"""

from pathlib import Path

from counterpoise.cli.demo import run_demo

if __name__ == "__main__":
    run_demo(Path(__file__).parents[1] / "out")
