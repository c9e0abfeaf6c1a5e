"""Lines that lie on each other: drawn once, under all their names."""
from matplotlib.lines import Line2D


def groups(lines):
    """lines: name -> what makes its line, or nothing where it has none. The first name of equal ones -> all their names."""
    found = {}
    for name, line in lines.items():
        found.setdefault(repr(line) if line else name, []).append(name)  # as text: a NaN equals nothing
    return {own[0]: own for own in found.values()}


def handles(words, together):
    """Legend entries: 'edf = piv' for lines that lie on each other. words: name -> what makes its line; together: as groups() gives them."""
    return [Line2D([], [], label=' = '.join(own), **words[name]) for name, own in together.items()]
