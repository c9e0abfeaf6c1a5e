"""Prints what a result folder measured, and how that compares with what was published."""
import sys

from gangway.drawing.commands.report import cli

sys.exit(cli())
