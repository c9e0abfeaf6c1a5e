"""One Markdown page of everything that ./dev hw left in its folder."""
import sys

from gangway.drawing.commands.hw_report import cli

sys.exit(cli())
