"""gangway prepare and its cache."""

import json
import os
import signal
import time
import unittest

from made_programs import FIXTURES, NVCC, Kernels, mode


class Prepare(Kernels):
    def entries(self):
        return sorted(self.cache.iterdir()) if self.cache.exists() else []

    def test_the_second_time_there_is_nothing_to_do(self):
        first = self.gangway("prepare", FIXTURES / "program")
        self.assertEqual(first.stderr, "")
        self.assertIn("1 module prepared for sm_90, 0 there already", first.stdout)
        self.assertIn("2 of 2 kernels can leave the GPU before the end", first.stdout)
        self.assertEqual(mode(self.cache), 0o700)
        (entry,) = self.entries()
        self.assertEqual(mode(entry), 0o600)
        before, calls = entry.read_bytes(), self.calls()
        self.assertTrue(before.endswith((FIXTURES / "cuda12.cubin").read_bytes()))
        second = self.gangway("prepare", FIXTURES / "program")
        self.assertIn("nothing to do: 1 module for sm_90 prepared already", second.stdout)
        self.assertEqual((entry.read_bytes(), self.calls()), (before, calls))
        self.assertEqual(self.left(), [])
        # The same text, packed otherwise, is the same module; the options of another are its own.
        self.assertIn("nothing to do", self.gangway("prepare", FIXTURES / "none.fatbin").stdout)
        self.assertIn("1 module prepared", self.gangway("prepare", FIXTURES / "size.fatbin").stdout)
        self.assertIn("-maxrregcount=40", self.calls()[-1])

    def test_gpu_and_assembler_are_part_of_the_key(self):
        self.gangway("prepare", FIXTURES / "two_kernels.ptx")
        self.assertIn("1 module prepared for sm_100", self.gangway("prepare", FIXTURES / "two_kernels.ptx", "--arch", "sm_100").stdout)
        self.fake.write_text(self.fake.read_text().replace("V0.0.1", "V0.0.2"))
        self.assertIn("1 module prepared", self.gangway("prepare", FIXTURES / "two_kernels.ptx").stdout)
        self.assertEqual([line.split()[0] for line in self.calls()], ["-arch=sm_90", "-arch=sm_100", "-arch=sm_90"])
        self.assertEqual(len(self.entries()), 3)

    def test_targets_of_one_gpu_are_compiled_for_it(self):
        self.gangway("prepare", FIXTURES / "accelerated.fatbin")
        self.gangway("prepare", FIXTURES / "targets.fatbin", "--arch", "sm_103")
        self.assertEqual([line.split()[0] for line in self.calls()], ["-arch=sm_90a", "-arch=sm_103f"])

    def test_a_damaged_entry_is_made_anew(self):
        self.gangway("prepare", FIXTURES / "program")
        (entry,) = self.entries()
        whole = entry.read_bytes()
        for damaged in (whole[:-1], whole[:100], b"", whole.replace(b"scale", b"SCALE", 1)):
            entry.write_bytes(damaged)
            done = self.gangway("prepare", FIXTURES / "program")
            self.assertEqual(done.stderr, f"note: {entry} is damaged and not used; it is made anew\n")
            self.assertIn("1 module prepared", done.stdout)
            self.assertEqual(entry.read_bytes(), whole)

    def test_what_the_assembler_rejects_is_not_tried_again(self):
        self.switch("fails")
        done = self.gangway("prepare", FIXTURES / "program")
        self.assertRegex(done.stderr, r"^note: .*program: module 1: the rewritten module is not accepted: .*line 7; error.*\n$")
        self.assertIn("1 module whose rewritten text is not accepted", done.stdout)
        self.assertIn("0 of 2 kernels", done.stdout)
        calls = len(self.calls())
        self.assertIn("nothing to do", self.gangway("prepare", FIXTURES / "program").stdout)
        self.assertEqual(len(self.calls()), calls)

    def test_an_assembler_that_dies_is_no_verdict(self):
        self.fake.write_text(self.fake.read_text().replace("out=elf.o", "kill -9 $$"))
        self.assertIn("program: module 1: ", self.refused("prepare", FIXTURES / "program", code=1))
        self.assertEqual(self.entries(), [])

    def test_folders_of_others_are_refused(self):
        self.gangway("prepare", FIXTURES / "program")
        self.cache.chmod(0o755)
        self.assertIn("is open to other users", self.refused("prepare", FIXTURES / "program", code=1))
        self.assertIn("is open to other users", self.refused("prepare", "--list", code=1))
        self.gangway("inspect", FIXTURES / "program")  # needs none
        self.cache.chmod(0o700)
        if os.geteuid() == 0:
            os.chown(self.cache, 12345, 12345)
            self.assertIn("belongs to another user", self.refused("prepare", FIXTURES / "program", code=1))

    def test_list_limit_and_clear(self):
        self.assertIn("0 modules", self.gangway("prepare", "--list").stdout)
        for gpu in ("sm_90", "sm_100", "sm_120"):
            self.gangway("prepare", FIXTURES / "two_kernels.ptx", "--arch", gpu)
        listed = self.gangway("prepare", "--list").stdout.splitlines()
        self.assertEqual(len(listed), 4)
        self.assertIn("2 kernels     6 forms", listed[0])
        self.assertIn("two_kernels.ptx: module 1", listed[0])
        now = time.time()
        for entry in self.entries():
            gpu = json.loads(entry.read_bytes().split(b"\n", 3)[3].split(b"\x7fELF")[0])["gpu"]
            os.utime(entry, (now - 100, now - {"sm_90": 1, "sm_100": 300, "sm_120": 200}[gpu]))
        size = self.entries()[0].stat().st_size
        done = self.gangway("prepare", FIXTURES / "two_kernels.ptx", "--limit", f"{2 * size + 200} B")
        self.assertIn("1 old module removed to make room", done.stdout)
        self.assertNotIn("sm_100", self.gangway("prepare", "--list").stdout)
        self.assertIn("2 modules removed", self.gangway("prepare", "--clear").stdout)
        self.assertEqual(self.entries(), [])
        self.assertIn("a size", self.refused("prepare", FIXTURES / "program", "--limit", "0"))
        self.assertIn("--list", self.refused("prepare"))
        self.assertIn("in range 1 to 1024", self.refused("prepare", FIXTURES / "program", "--jobs", "-1"))
        self.refused("prepare", "--list", "--clear")
        self.refused("prepare", "--clear", FIXTURES / "program")

    def test_an_interruption_leaves_nothing_half_written(self):
        self.gangway("prepare", FIXTURES / "two_kernels.ptx")
        before = self.entries()
        self.switch("slow")
        for how in (signal.SIGINT, signal.SIGTERM):
            process = self.start("prepare", FIXTURES / "program", FIXTURES / "two_kernels.ptx", "--jobs", 2)
            while len(self.calls()) < 2:
                time.sleep(0.01)
            began = time.monotonic()
            process.send_signal(how)
            out, error = process.communicate()
            self.assertEqual((process.returncode, out), (130, ""), error)
            self.assertIn("interrupted: 1 of 2 modules are prepared", error)
            self.assertLess(time.monotonic() - began, 5)
            self.assertEqual((self.entries(), self.left()), (before, []))
            (self.fake.parent / "calls").write_text("one\n")

    def test_modules_without_ptx(self):
        done = self.gangway("prepare", FIXTURES / "mixed.fatbin")
        self.assertEqual(done.stdout, "1 module with PTX for an earlier GPU than that of the machine code that runs, which may be other code: "
                         "nothing to prepare there\n")
        self.assertEqual(self.calls(), [])
        self.assertIn("1 module prepared for sm_100", self.gangway("prepare", FIXTURES / "mixed.fatbin", "--arch", "sm_100").stdout)
        done = self.gangway("prepare", FIXTURES / "cuda12.cubin")
        self.assertEqual(done.stdout, "nothing to prepare: 1 module with kernels, none with PTX for sm_90\n")
        self.assertIn("Python program", self.refused("prepare", self.file("a.py", "import cupy")))


@unittest.skipUnless(NVCC, "no nvcc")
class Prepared(Kernels):
    def test_many_modules_at_once_are_the_same_as_one_by_one(self):
        self.real()
        files = []
        for number in range(6):
            text = (FIXTURES / "two_kernels.ptx").read_text().replace("scale", f"scal{number}")
            files.append(self.file(f"m{number}.ptx", text))
        contents = []
        for jobs in (1, 4):
            done = self.gangway("prepare", *files, "--jobs", jobs)
            self.assertIn("6 modules prepared", done.stdout)
            contents.append({p.name: p.read_bytes() for p in self.cache.iterdir()})
            self.gangway("prepare", "--clear")
        self.assert_same_files(*contents)


if __name__ == "__main__":
    unittest.main()
