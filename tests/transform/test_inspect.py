"""gangway inspect: which kernels can leave, and what is said of files of every kind."""

import os
import re
import subprocess
import unittest

from made_programs import FIXTURES, FORMS, GANGWAY, NVCC, PICK, PTXAS, ROOT, SCALE, Kernels

OLDEST = (FIXTURES / "two_kernels.ptx").read_text().replace("sm_80", "sm_75")
SOURCE = FIXTURES / "two_kernels.cu"


class Inspect(Kernels):
    def test_a_program_without_a_compiler_of_its_own(self):
        found = self.inspected(FIXTURES / "program")
        self.assertEqual(sorted(found), [PICK, SCALE])
        kernel = found[SCALE]
        self.assertEqual(list(kernel)[:4], ["kernel", "demangled", "forms", "refused"])
        self.assertEqual(kernel["demangled"], "scale(float*, float)")
        self.assertTrue(kernel["ptx"])
        for each in found.values():
            self.assertEqual(sorted([*each["forms"], *each["refused"]]), sorted(FORMS))
        self.assertEqual(kernel["registers"]["original"], 10)
        self.assertEqual(kernel["shared_bytes"]["original"], 512)
        text = self.gangway("inspect", FIXTURES / "program").stdout
        self.assertIn("scale(float*, float)   module 1, line ", text)
        self.assertRegex(text.splitlines()[-1], r"^\d of 2 kernels \(\d+\.\d %\) can leave sm_90 before the end: slice \d, prologue \d, loop \d$")

    def test_lines_are_those_of_the_ptx(self):
        lines = (FIXTURES / "two_kernels.ptx").read_text().splitlines()
        for name, kernel in self.inspected(FIXTURES / "two_kernels.ptx").items():
            self.assertIn(f".entry {name}(", lines[kernel["line"] - 1])

    def test_refusals_name_the_instruction_and_its_line(self):
        text = (FIXTURES / "two_kernels.ptx").read_text()
        refused = text.replace("ret;", "mov.u32 %r1, %envreg1;\n ret;", 1)
        kernel = self.inspected(self.file("grid.ptx", refused))[SCALE]
        self.assertEqual(kernel["forms"], [])
        for form in FORMS:
            found = re.fullmatch(r".+ \(line (\d+): (.+)\)", kernel["refused"][form])
            self.assertTrue(found, kernel["refused"][form])
            self.assertIn("%envreg1", refused.splitlines()[int(found[1]) - 1])
            self.assertIn("%envreg1", found[2])

    def test_kernels_without_ptx_for_the_gpu(self):
        def reasons(*arguments):
            return {reason for each in self.inspected(*arguments).values() for reason in each["refused"].values()}

        self.assertEqual(reasons(FIXTURES / "cuda12.cubin"), {"no PTX"})
        self.assertEqual(reasons(FIXTURES / "program", "--arch", "sm_80"), {"its PTX is for sm_90, which this GPU cannot run"})
        self.assertEqual(reasons(FIXTURES / "relocatable.fatbin"), {"relocatable device code: its PTX is not the whole module"})
        done = self.gangway("inspect", FIXTURES / "intermediate.fatbin")
        self.assertIn("only code that is compiled when the program is linked", done.stderr)
        self.assertIn("no kernels", done.stdout)

    def test_ptx_beside_machine_code_that_may_be_other_code(self):
        reason = "its PTX is for sm_80, and the machine code that runs, for sm_90, may be other code"
        found = self.inspected(FIXTURES / "mixed.fatbin")
        self.assertEqual(sorted(found), [PICK, SCALE])
        for each in found.values():
            self.assertEqual((each["forms"], each["refused"], each["ptx"]), ([], dict.fromkeys(FORMS, reason), True))
        self.assertEqual(found[SCALE]["shared_bytes"], {"original": 512})
        self.assertIn("0 of 2 kernels", self.gangway("inspect", FIXTURES / "mixed.fatbin").stdout)
        # A GPU that cannot run the machine code runs the PTX.
        for gpu in ("sm_86", "sm_100"):
            self.assertEqual(self.inspected(FIXTURES / "mixed.fatbin", "--arch", gpu)[SCALE]["forms"], FORMS)

    def test_ptx_that_is_not_understood(self):
        text = (FIXTURES / "two_kernels.ptx").read_text()
        found = self.inspected(self.file("odd.ptx", text.replace("ret;", "ret }{;", 1)))
        self.assertEqual({tuple(each["forms"]) for each in found.values()}, {()})
        self.assertIn("its PTX is not understood: line ", found[SCALE]["refused"]["slice"])

    def test_a_rewritten_module_that_the_assembler_rejects(self):
        self.switch("fails")
        done = self.gangway("inspect", FIXTURES / "program")
        self.assertRegex(done.stderr, r"^note: .*module 1: ptxas refuses the rewritten module: .*Unknown thing\n$")
        self.assertIn("0 of 2 kernels", done.stdout)
        self.assertEqual(self.left(), [])

    def test_a_form_that_the_assembler_rejects_leaves_the_others(self):
        self.refuses("scale.*gangway_prologue")
        found = self.inspected(FIXTURES / "program")
        self.assertEqual((found[SCALE]["forms"], found[PICK]["forms"]), (["slice", "loop"], FORMS))
        self.assertEqual(found[SCALE]["refused"], {"prologue": "ptxas refuses it: Unknown thing"})
        self.assertEqual(len(self.calls()), 2)
        self.assertIn("2 of 2 kernels", self.gangway("prepare", FIXTURES / "program").stdout)
        self.assertEqual(self.inspected(FIXTURES / "program"), found)  # what was prepared is as it was

    def test_what_is_no_image_is_refused_in_one_line(self):
        for name, text, says in (("a.py", "import torch", "a Python program"), ("a.sh", "#!/bin/sh", "a script"), ("a.cu", "x", "nvcc -ptx"),
                                 ("empty", "", "an empty file"), ("a.ptx", "ret;", ".version")):
            self.assertIn(says, self.refused("inspect", self.file(name, text)))
        self.assertIn("No such file", self.refused("inspect", "missing"))
        self.assertIn("a folder", self.refused("inspect", self.folder))
        self.assertIn("no regular file", self.refused("inspect", "/dev/zero"))
        self.assertIn("sm_90", self.refused("inspect", FIXTURES / "program", "--arch", "h100"))
        self.assertIn("sm_90", self.refused("inspect", FIXTURES / "program", "--arch", "sm_999"))
        self.assertIn("sm_90", self.refused("prepare", FIXTURES / "program", "--arch", "90b"))

    def test_an_assembler_that_is_none(self):
        os.environ["GANGWAY_PTXAS"] = "/bin/true"
        self.assertIn("GANGWAY_PTXAS", self.refused("inspect", FIXTURES / "program"))

    def test_a_program_that_has_none(self):
        done = self.gangway("inspect", "/bin/sh")
        self.assertIn("no kernels", done.stdout)
        self.assertEqual(self.gangway("inspect", "sh").stdout.replace("sh:", "", 1).count("no kernels"), 1)  # found in PATH
        self.assertEqual(self.gangway("inspect", "/bin/sh", "--json").stdout, "[]\n")

    def test_the_probe_of_time_slices_fills_the_gpu(self):
        kernels = self.inspected(GANGWAY)
        if not kernels:
            self.skipTest("built without CUDA")
        registers = [each["registers"]["original"] for name, each in kernels.items() if "keep_time" in name]
        # Two blocks of 1,024 threads on an SM of 65,536 registers, which are given in eights.
        self.assertEqual(len(registers), 1)
        self.assertIn(registers[0], range(25, 33))

    def test_shares_of_a_recording(self):
        recording = ROOT / "experiments/colocation/h100/long-kernel.rec.gz"
        found = self.inspected(FIXTURES / "program", "--recording", recording)
        self.assertAlmostEqual(sum(each["gpu_time_share"] for each in found.values()), 1, places=6)
        self.assertEqual(found[SCALE]["gpu_time_share"], 0)
        foreign = [each for each in found.values() if not each["file"]]
        self.assertTrue(foreign)
        for each in foreign:
            self.assertEqual(set(each["refused"].values()), {"not in what was inspected"})
            self.assertGreater(each["launches"], 0)
        text = self.gangway("inspect", FIXTURES / "program", "--recording", recording).stdout
        self.assertIn("they took 0.0 % of the kernels' GPU time", text)
        self.assertIn("expected a recording", self.refused("inspect", FIXTURES / "program", "--recording", SOURCE))


@unittest.skipUnless(NVCC, "no nvcc")
class Compiled(Kernels):
    def setUp(self):
        super().setUp()
        self.real()

    def assembler_says(self, text):
        """What `ptxas -v` says: {kernel: (registers, static shared memory)}."""
        found = {}
        for name, registers, rest in re.findall(r"Compiling entry function '(\S+)'.*?Used (\d+) registers([^\n]*)", text, re.S):
            shared = re.search(r"(\d+) bytes smem", rest)
            found[name] = (int(registers), int(shared[1]) if shared else 0)
        return found

    def test_sizes_are_those_that_ptxas_says_on_every_gpu(self):
        for gpu in ("75", "80", "90", "100", "120"):
            done = subprocess.run([PTXAS, f"-arch=sm_{gpu}", "-v", self.file("a.ptx", OLDEST), "-o", "a.cubin"], cwd=self.folder,
                                  capture_output=True, text=True, check=True)
            said, found = self.assembler_says(done.stderr), self.inspected("a.cubin", "--arch", f"sm_{gpu}")
            self.assertEqual(sorted(said), [PICK, SCALE])
            for name, sizes in said.items():
                self.assertEqual((found[name]["registers"]["original"], found[name]["shared_bytes"]["original"]), sizes, f"{name} on {gpu}")

    def test_the_shared_memory_of_a_claim_counts(self):
        for name, its_own in ((SCALE, 512), (PICK, 0)):
            found = self.inspected(FIXTURES / "program")[name]
            self.assertEqual(found["shared_bytes"], {"original": its_own, "slice": its_own, "prologue": its_own + 12, "loop": its_own + 12})
        self.assertRegex(self.gangway("inspect", FIXTURES / "program").stdout, r"prologue .* registers, 512 -> 524 bytes of shared memory\n")

    def test_ptx_of_a_version_before_the_loops_barrier(self):
        text = (FIXTURES / "two_kernels.ptx").read_text().replace(".version 8.0", ".version 4.3").replace("sm_80", "sm_52")
        found = self.inspected(self.file("old.ptx", text))
        for each in found.values():
            self.assertEqual(each["forms"], ["slice", "prologue"])
            self.assertEqual(each["refused"], {"loop": "the module's PTX is of version 4.3, and this form needs 6.0"})

    def test_every_way_of_building_a_program(self):
        ways = {"static": [], "shared": ["-cudart", "shared", "-compress-mode=balance"], "debug": ["-G", "-Xfatbin", "-compress-all"]}
        for name, options in ways.items():
            self.nvcc("-arch=sm_90", "-DPROGRAM", *options, "-o", name, SOURCE)
            found = self.inspected(name)
            self.assertEqual(sorted(found), [PICK, SCALE], name)
            self.assertTrue(all(each["ptx"] for each in found.values()), name)

    def test_several_modules_a_library_and_an_archive(self):
        for number in (1, 2):
            self.file(f"m{number}.cu", f"__global__ void k{number}(int* x) {{ *x = {number}; }} void f{number}() {{ k{number}<<<1, 1>>>(nullptr); }}")
            self.nvcc("-arch=sm_90", "-Xcompiler", "-fPIC", "-c", f"m{number}.cu")
        self.file("main.cpp", "void f1(); void f2(); int main() { f1(); f2(); }")
        self.nvcc("-o", "program", "main.cpp", "m1.o", "m2.o")
        self.assertEqual({k: v["module"] for k, v in self.inspected("program").items()}, {"_Z2k1Pi": "module 1", "_Z2k2Pi": "module 2"})
        subprocess.run(["ar", "rcs", "libm.a", "m1.o", "m2.o"], cwd=self.folder, check=True)
        self.assertEqual(sorted(each["module"] for each in self.inspected("libm.a").values()), ["m1.o: module 1", "m2.o: module 2"])
        self.nvcc("-shared", "-o", "libmodules.so", "m1.o", "m2.o")
        self.nvcc("-o", "linked", "main.cpp", "-L.", "-lmodules", "-Xlinker", "-rpath=$ORIGIN")
        self.assertEqual(self.inspected("linked"), {})
        found = self.inspected("linked", "--libraries")
        self.assertEqual({each["file"].rsplit("/", 1)[-1] for each in found.values()}, {"libmodules.so"})
        self.assertEqual(len(found), 2)

    def test_relocatable_device_code(self):
        self.nvcc("-arch=sm_90", "-rdc=true", "-DPROGRAM", "-o", "program", SOURCE)
        found = self.inspected("program")
        self.assertEqual(sorted(found), [SCALE])  # nothing launches the other, so nvlink leaves it out
        for each in found.values():
            self.assertEqual(set(each["refused"].values()), {"relocatable device code: there is no PTX of the whole module"})
            self.assertEqual(each["module"], "module 1")


if __name__ == "__main__":
    unittest.main()
