"""Draws what a calibration measured, as PNG and PDF: eviction delays, kernels, copies, polls, idle times."""
import sys

from gangway.drawing.commands.calibration import cli

sys.exit(cli())
