"""How figures and tables are made: rows in, a matplotlib figure or text out. gangway.figures is the way in."""
