"""``python -m counterpoise.cli``: the command line without an installed script."""

from counterpoise.cli import main

main()
