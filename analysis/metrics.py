"""Makes the reference of all metrics anew, or holds it against the program's table."""
import sys

from gangway.drawing.commands.metrics import cli

sys.exit(cli())
