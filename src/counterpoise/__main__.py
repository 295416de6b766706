"""``python -m counterpoise``: the command line without an installed script."""

from counterpoise.cli import main

main()
