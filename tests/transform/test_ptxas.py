"""gangway ptxas: the real one's output, errors and exit code, and forms beside the kernels."""

import os
import re
import signal
import subprocess
import time
import unittest
from pathlib import Path

from made_programs import FIXTURES, FORMS, GANGWAY, NVCC, PICK, PTXAS, SCALE, Kernels

PTX = FIXTURES / "two_kernels.ptx"


class Wrapped(Kernels):
    def test_what_cannot_be_rewritten_is_passed_on_as_it_is(self):
        for arguments in (["x.ptx", "-o", "y"], [str(PTX), "-e", SCALE, "-o", "y"], ["-ias", PTX.read_text(), "-o", "y"]):
            self.gangway("ptxas", *arguments)
            self.assertEqual("\n".join(self.calls()[-len(" ".join(arguments).splitlines()):]), " ".join(arguments))
        self.assertIn("takes them, too", self.gangway("ptxas", "--help").stdout)  # the command's own

    def test_the_rewritten_text_is_compiled_in_place_of_the_original(self):
        self.gangway("ptxas", "-arch=sm_90", PTX, "-o", self.folder / "out.cubin")
        (call,) = self.calls()
        self.assertNotIn(str(PTX), call)
        self.assertRegex(call, r"^-arch=sm_90 \S+/two_kernels\.ptx -o \S+/out\.cubin$")
        self.assertTrue((self.folder / "out.cubin").exists())
        self.assertEqual(self.left(), [])

    def test_where_it_is_rejected_the_original_is_compiled_and_it_is_said_once(self):
        self.fake.write_text(self.fake.read_text().replace("[ -e \"$here/fails\" ]", "grep -q gangway_ \"$2\""))
        done = self.gangway("ptxas", "-v", PTX, "-o", "out.cubin")
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertRegex(done.stderr, r"^gangway: .*two_kernels\.ptx is compiled without forms of its kernels: ptxas .*Unknown thing$")
        self.assertEqual(self.calls()[-1], f"-v {PTX} -o out.cubin")
        self.assertTrue((self.folder / "out.cubin").exists())

    def test_a_form_that_is_rejected_leaves_the_others(self):
        self.refuses("scale.*gangway_loop")
        done = self.gangway("ptxas", "-v", PTX, "-o", "out.cubin")
        self.assertRegex(done.stderr, r"^gangway: .*two_kernels\.ptx is compiled without some forms of its kernels: ptxas .*Unknown thing\n$")
        self.assertEqual(len(self.calls()), 2)
        self.assertNotIn(f"-v {PTX} ", self.calls()[-1])
        self.assertEqual(self.left(), [])

    def test_errors_and_exit_code_are_the_real_ones(self):
        self.switch("fails")
        done = subprocess.run([GANGWAY, "ptxas", "-v", "-v", PTX], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 255)
        self.assertEqual(done.stderr.splitlines()[-1], f"ptxas {PTX}, line 7; error   : Unknown thing")

    def test_an_interruption_leaves_nothing(self):
        self.switch("slow")
        process = self.start("ptxas", PTX, "-o", "out.cubin")
        while not self.calls():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate()
        self.assertEqual((process.returncode, self.left()), (130, []))
        self.assertFalse((self.folder / "out.cubin").exists())

    def test_files_of_arguments(self):
        options = self.file("options", f"-arch=sm_90 -o packed.cubin '{PTX}'")
        for arguments in ([f"@{options}"], ["-optf", options]):
            self.gangway("ptxas", *arguments)
            self.assertRegex(self.calls()[-1], r"^-arch=sm_90 -o packed.cubin \S+/two_kernels\.ptx$")

    def test_without_a_real_one_it_says_so(self):
        link = self.folder / "ptxas"
        link.symlink_to(GANGWAY)
        os.environ["GANGWAY_PTXAS"] = str(link)  # itself
        done = subprocess.run([link, "--version"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("GANGWAY_PTXAS", done.stderr)


@unittest.skipUnless(NVCC, "no nvcc")
class Linked(Kernels):
    """As ptxas, by a link of that name."""

    def setUp(self):
        super().setUp()
        self.real()
        self.link = self.folder / "bin/ptxas"
        self.link.parent.mkdir()
        self.link.symlink_to(GANGWAY)

    def both(self, *arguments):
        def call(program):
            return subprocess.run([program, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True)

        return call(PTXAS), call(self.link)

    def test_errors_are_the_real_ones(self):
        text = PTX.read_text()
        for arguments in (["missing.ptx"], [], ["--version"], ["--help"], ["-arch=sm_1", PTX], [self.file("bad.ptx", text.replace("ret;", "rot;", 1))],
                          [self.file("sixteen.ptx", text.replace(".version 8.0", ".version 99.0"))], ["--no-such-option", PTX]):
            theirs, ours = self.both(*arguments)
            self.assertEqual(ours.returncode, theirs.returncode, arguments)
            self.assertEqual(ours.stdout, theirs.stdout)
            self.assertEqual(re.sub(r"(?m)^gangway: .*\n", "", ours.stderr), theirs.stderr)

    def test_the_cubin_has_the_kernels_and_their_forms(self):
        options = self.file("options", f"-arch=sm_90 -o packed.cubin {PTX}")
        for arguments, cubin in ((["-arch=sm_90", PTX, "-o", "plain.cubin"], "plain.cubin"), (["--options-file", options], "packed.cubin"),
                                 (["-optf", options], "packed.cubin"), (["-arch=sm_90", PTX], "elf.o")):
            theirs, ours = self.both(*arguments)
            self.assertEqual((ours.returncode, ours.stderr), (theirs.returncode, theirs.stderr), arguments)
            found = self.inspected(cubin)
            self.assertEqual(sorted(found), [PICK, SCALE])
            for each in found.values():
                self.assertEqual(sorted([*each["forms"], *each["refused"]]), sorted(FORMS))
                self.assertIn("slice", each["forms"])
                self.assertEqual(sorted(each["registers"]), sorted(["original", *each["forms"]]))

    def test_two_texts_of_one_module(self):
        for name in ("one", "two"):
            self.file(f"{name}.ptx", f".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry {name}(.param .u64 p)\n{{ ret; }}\n")
        theirs, ours = self.both("-arch=sm_90", "one.ptx", "two.ptx", "-o", "both.cubin")
        self.assertEqual((ours.returncode, ours.stderr), (theirs.returncode, theirs.stderr))
        self.assertEqual(sorted(self.inspected("both.cubin")), ["one", "two"])

    def nvcc_with_forms(self):
        """As hw/transform/README.md says."""
        said = subprocess.run([NVCC, "--dryrun", "-c", FIXTURES / "two_kernels.cu"], capture_output=True, text=True).stderr
        real = os.path.realpath(re.search(r"^#\$ _HERE_=(.+)$", said, re.M)[1])  # where nvcc is a script, too
        folder = self.folder / "with-forms"
        folder.mkdir()
        for name in os.listdir(real):
            if name not in ("ptxas", "nvcc.profile"):
                (folder / name).symlink_to(os.path.join(real, name))
        (folder / "ptxas").symlink_to(GANGWAY)
        profile = Path(real, "nvcc.profile").read_text()
        (folder / "nvcc.profile").write_text(profile.replace("$(_HERE_)/..", os.path.dirname(real)))
        return folder / "nvcc"

    def test_programs_of_nvcc_carry_their_forms_through_every_step(self):
        nvcc = self.nvcc_with_forms()
        for options in ([], ["-rdc=true"], ["-Xfatbin", "-compress-all"]):
            self.nvcc("-gencode", "arch=compute_90,code=sm_90", "-DPROGRAM", *options, "-o", "program", FIXTURES / "two_kernels.cu", compiler=nvcc)
            found = self.inspected("program")
            self.assertEqual(sorted(found), [PICK, SCALE], options)
            for each in found.values():
                self.assertIn("prologue", each["forms"], options)
            self.assertIn("1 module with the forms in the cubin: nothing to prepare there", self.gangway("prepare", "program").stdout)

    def test_a_template_in_several_files_is_linked_once(self):
        nvcc = self.nvcc_with_forms()
        self.file("k.hpp", "template <class T> __global__ void k(T* out) { out[blockIdx.x] = blockIdx.x; }")
        for name, text in (("a", "void f() { k<int><<<1, 1>>>(nullptr); }"), ("b", "void f(); int main() { f(); k<int><<<1, 1>>>(nullptr); }")):
            self.file(f"{name}.cu", f'#include "k.hpp"\n{text}')
        self.nvcc("-gencode", "arch=compute_90,code=sm_90", "-rdc=true", "-o", "program", "a.cu", "b.cu", compiler=nvcc)
        (kernel,) = self.inspected("program").values()
        self.assertEqual(kernel["forms"], FORMS)
        # nvlink drops what no host code launches, unless its name begins with that of what is launched.
        self.assertIn(f".text.{kernel['kernel']}$gangway_report\0".encode(), (self.folder / "program").read_bytes())


if __name__ == "__main__":
    unittest.main()
