"""Programs with kernels: as they are stored beside the readers' tests, and as nvcc makes them where there is one."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
from program import GANGWAY, ProgramTest  # noqa: E402, F401

FIXTURES = ROOT / "tests/hw/transform/images/fixtures"
NVCC = shutil.which("nvcc") or (p if os.path.exists(p := "/usr/local/cuda/bin/nvcc") else None)
PTXAS = str(Path(NVCC).parent / "ptxas") if NVCC and (Path(NVCC).parent / "ptxas").exists() else None
SCALE, PICK = "_Z5scalePff", "_Z4pickIiEvPT_i"
FORMS = ["slice", "prologue", "loop"]

# Says a version, writes a cubin that is none of its input's, fails as long as there is a file `fails`, takes its time while
# there is a file `slow`, and counts its calls.
FAKE = """#!/bin/sh
here=$(dirname "$0")
[ "$1" = --version ] && { echo "Cuda compilation tools, release 0.0, V0.0.1"; exit 0; }
echo "$@" >> "$here/calls"
[ -e "$here/slow" ] && exec sleep 30
[ -e "$here/fails" ] && { echo "ptxas $3, line 7; error   : Unknown thing" >&2; exit 255; }
out=elf.o
while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done
cp "$here/cubin" "$out"
"""


class Kernels(ProgramTest):
    """A test with a cache of its own and, until real() is called, an assembler of its own."""

    def setUp(self):
        super().setUp()
        self.cache, tools = self.folder / "cache", self.folder / "tools"
        tools.mkdir()
        self.fake = tools / "ptxas"
        self.fake.write_text(FAKE)
        self.fake.chmod(0o755)
        shutil.copy(FIXTURES / "cuda12.cubin", tools / "cubin")
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        os.environ.update(GANGWAY_CACHE=str(self.cache), GANGWAY_PTXAS=str(self.fake), TMPDIR=str(self.folder))

    def real(self):
        os.environ["GANGWAY_PTXAS"] = PTXAS

    def calls(self):
        calls = self.fake.parent / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    def switch(self, name, on=True):
        (self.fake.parent / name).touch() if on else (self.fake.parent / name).unlink()

    def refuses(self, pattern):
        """From now on the assembler has an error at the first line with it, if there is one."""
        check = f'at=$(cat $(printf "%s\\n" "$@" | grep "[.]ptx$") | grep -n "{pattern}" | head -n 1 | cut -d : -f 1)'
        fails = '[ -n "$at" ] && { echo "ptxas x.ptx, line $at; error   : Unknown thing" >&2; exit 255; }'
        self.fake.write_text(self.fake.read_text().replace("out=elf.o", f"{check}\n{fails}\nout=elf.o"))

    def left(self):
        """What is in the folder besides the test's own."""
        return sorted(p.name for p in self.folder.iterdir() if p.name.startswith("gangway-"))

    def inspected(self, *arguments):
        """By mangled name."""
        found = json.loads(self.gangway("inspect", *arguments, "--json").stdout)
        self.assertIsInstance(found, list)
        return {each["kernel"]: each for each in found}

    def nvcc(self, *arguments, compiler=NVCC):
        done = subprocess.run([compiler, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)
