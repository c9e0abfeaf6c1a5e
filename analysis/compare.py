"""Draws how far a prediction is from a measurement of the same experiment, as PNG and PDF."""
import sys

from gangway.drawing.commands.compare import cli

sys.exit(cli())
