"""Draws every figure that applies to the given result folders, as PNG and PDF."""
import sys

from gangway.drawing.commands.figures import cli

sys.exit(cli())
