"""The programs of examples/shoc, compiled by nvcc as their makefile says: each kernel can leave before its end."""

import re
import subprocess
import unittest

from made_programs import NVCC, PTXAS, ROOT, Kernels

FOLDER = ROOT / "examples/shoc"
KERNELS = {
    "bfs": ["expand"], "fft": ["fft512"], "md": ["lj_forces"], "md5hash": ["search"], "neuralnet": ["feed_forward"], "reduction": ["reduce"],
    "scan": ["scan_parts", "scan_sums", "sum_parts"], "sort": ["count_digits", "move_keys", "scan_counts"], "spmv": ["spmv"],
    "stencil2d": ["stencil"], "triad": ["triad"],
}


class MakefileOfShoc(unittest.TestCase):
    def test_it_has_all_programs(self):
        self.assertEqual(sorted(KERNELS), sorted(path.stem for path in FOLDER.glob("*.cu")))
        named = re.search(r"^PROGRAMS = (.+)$", (FOLDER / "Makefile").read_text(), re.M)[1].split()
        self.assertEqual(named, sorted(KERNELS))
        for program in KERNELS:
            self.assertIn(f"/examples/shoc/{program}\n", (ROOT / ".gitignore").read_text())


@unittest.skipUnless(NVCC and PTXAS, "no nvcc")
class ShocPrograms(Kernels):
    def test_every_kernel_takes_the_prologue(self):
        self.real()
        compiling = {}
        for program in KERNELS:  # the device's half, which is what nvcc puts into the program
            compiling[program] = subprocess.Popen([NVCC, "-O2", "-std=c++17", "-arch=sm_90", "-fatbin", "-o", self.folder / f"{program}.fatbin",
                                                   FOLDER / f"{program}.cu"], stderr=subprocess.PIPE, text=True)
        for program, process in compiling.items():
            self.assertEqual(process.communicate()[1], "")
            self.assertEqual(process.returncode, 0)
        for program, kernels in KERNELS.items():
            found = self.inspected(self.folder / f"{program}.fatbin")
            self.assertEqual(sorted(each["demangled"].split("(")[0] for each in found.values()), kernels)
            for each in found.values():
                with self.subTest(program, kernel=each["demangled"]):
                    self.assertIn("prologue", each["forms"], each["refused"])
                    for form in each["forms"]:  # no fewer blocks at once for lack of registers: 256 threads of 65,536
                        self.assertLessEqual(each["registers"][form], max(32, each["registers"]["original"] + 8))


if __name__ == "__main__":
    unittest.main()
