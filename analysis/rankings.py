"""Ranks policies over result folders, one for each workload: a table for each metric, and fairness against throughput."""
import sys

from gangway.drawing.commands.rankings import cli

sys.exit(cli())
