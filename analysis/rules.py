"""Which rules of the GPU's queues hold on a real one: compares measured block timelines with predicted ones."""
import sys

from gangway.drawing.commands.rules import cli

sys.exit(cli())
