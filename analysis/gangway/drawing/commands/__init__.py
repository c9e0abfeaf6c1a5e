"""The command lines: analysis/NAME.py in a checkout, `python3 -m gangway NAME` where the package is installed."""
