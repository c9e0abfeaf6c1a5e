"""Counts, experiment by experiment, which printed values are met, missed, inputs or open: the table of experiments/papers.md."""
import sys

from gangway.drawing.commands.printed import cli

sys.exit(cli())
