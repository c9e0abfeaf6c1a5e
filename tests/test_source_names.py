"""No two C++ or CUDA files of one name mean different things: outside tests/, whose folders mirror the rooms, and
examples/, whose programs are their own, a name belongs to one folder, where a header and its source share it. The two halves of a mechanism share
theirs on purpose."""

import collections
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUFFIXES = {".cpp", ".hpp", ".cu", ".cuh", ".def"}
HALVES = {"models/mechanism", "hw/mechanisms"}
ALLOWED = {"world": ["models/world.cpp", "models/world.hpp", "sim/world.cpp", "sim/world.hpp"]}  # what every world is, and one


def shared(paths):
    """Names in several folders, with their files: {name: [path, ...]}."""
    folders = collections.defaultdict(dict)
    for path in map(Path, paths):
        if path.suffix in SUFFIXES and path.parts[0] not in {"tests", "examples"}:
            folders[path.stem].setdefault(str(path.parent), []).append(str(path))
    return {name: sorted(file for files in places.values() for file in files) for name, places in folders.items()
            if len(places) > 1 and not set(places) <= HALVES}


def sources():
    """All source files of the checkout, relative to it."""
    rooms = [room for room in ROOT.iterdir() if room.is_dir() and room.name[0] != "." and room.name not in {"build", "out"}]
    return [str(path.relative_to(ROOT)) for room in rooms for path in room.rglob("*") if path.suffix in SUFFIXES]


class SourceNames(unittest.TestCase):
    def test_no_name_stands_for_two_things(self):
        found = sources()
        self.assertGreater(len(found), 500)
        self.assertEqual(shared(found), ALLOWED)

    def test_two_files_of_one_name_are_found(self):
        self.assertEqual(shared(["hw/a.hpp", "hw/a.cpp", "hw/b.cu", "hw/b.hpp"]), {})
        self.assertEqual(shared(["hw/world.hpp", "sim/world.cpp"]), {"world": ["hw/world.hpp", "sim/world.cpp"]})
        self.assertEqual(shared(["hw/cuda/world.cu", "hw/host/world.cpp"]), {"world": ["hw/cuda/world.cu", "hw/host/world.cpp"]})
        self.assertEqual(shared(["hw/a.cpp", "tests/hw/a.cpp", "tests/sim/a.cpp", "hw/README.md", "sim/README.md"]), {})
        halves = ["models/mechanism/proxy.cpp", "hw/mechanisms/proxy.cu"]
        self.assertEqual(shared(halves), {})
        self.assertEqual(shared([*halves, "cli/proxy.cpp"]), {"proxy": sorted([*halves, "cli/proxy.cpp"])})


if __name__ == "__main__":
    unittest.main()
