"""gangway completion: the scripts are whole, and complete what the program has."""

import json
import os
import re
import shutil
import subprocess
import unittest

from program import GANGWAY, ROOT, ProgramTest

SHELLS = ("bash", "zsh", "fish")
AS_A_SHELL = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_gangway
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Completion(ProgramTest):
    def script(self, shell):
        return self.file(f"completion.{shell}", self.gangway("completion", shell).stdout)

    def bash(self, *words):
        """What bash offers for the last word."""
        done = subprocess.run(["bash", "--norc", "-c", AS_A_SHELL, "bash", self.script("bash"), GANGWAY, *words], cwd=self.folder,
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def listed(self, what):
        return sorted(item["name"] for item in json.loads(self.gangway("list", what, "--json").stdout))

    def test_commands_and_options(self):
        self.assertEqual(self.bash("ru"), ["run"])
        self.assertEqual(self.bash("run", "--wo"), ["--world"])
        self.assertEqual(self.bash("run", "x.yaml", "--tr"), ["--trace", "--trace-limit"])
        self.assertEqual(self.bash("--v"), ["--version"])
        self.assertIn("--json", self.bash("status", ""))
        self.assertEqual(self.bash("calibrate", "--ans"), [])  # help does not show it either

    def test_choices(self):
        self.assertEqual(self.bash("list", "pol"), ["policies"])
        self.assertEqual(self.bash("import", "torch", "--split", ""), ["process", "stream"])
        self.assertEqual(self.bash("completion", ""), list(SHELLS))
        self.assertEqual(self.bash("calibrate", "--world", "h"), ["host"])
        self.assertEqual(self.bash("new", ""), ["policy", "experiment", "workload"])

    def test_names_come_from_the_program(self):
        self.assertEqual(sorted(self.bash("run", "--world", "")), self.listed("worlds"))
        self.assertEqual(sorted(self.bash("serve", "--policy", "")), self.listed("policies"))
        self.assertEqual(self.bash("serve", "--policy", "stride-"), ["stride-timeslice"])
        self.assertEqual(sorted(self.bash("run", "")), sorted({*self.listed("experiments"), "completion.bash"}))
        self.assertEqual(sorted(self.bash("taskset", "")), self.listed("utilisations"))
        self.assertEqual(sorted(self.bash("import", "")), self.listed("profilers"))
        self.assertEqual(sorted(self.bash("import", "nsys", "x", "--device", "h")),
                         [name for name in self.listed("devices") if name.startswith("h")])

    def test_options_that_take_a_value_do_not_count_as_arguments(self):
        self.assertEqual(self.bash("run", "--jobs", "3", "frs/fig3"), ["frs/fig3"])
        self.assertEqual(self.bash("run", "--jobs", "=", "3", "frs/fig3"), ["frs/fig3"])
        self.assertEqual(self.bash("run", "--world", "=", "s"), ["sim"])
        self.assertEqual(self.bash("run", "--world", "="), self.bash("run", "--world", ""))
        self.assertEqual(self.bash("run", "frs/fig3", "frs/fig3"), [])

    def test_files_and_folders(self):
        (self.folder / "some.yaml").touch()
        (self.folder / "somewhere").mkdir()
        self.assertEqual(sorted(self.bash("check", "som")), ["some.yaml", "somewhere"])
        self.assertEqual(sorted(self.bash("check", "other.yaml", "som")), ["some.yaml", "somewhere"])
        self.assertEqual(self.bash("report", "som"), ["somewhere"])
        self.assertEqual(self.bash("run", "x.yaml", "--out", "som"), ["somewhere"])

    def test_programs_and_their_arguments(self):
        (self.folder / "some.yaml").touch()
        for words in (["exec"], ["exec", "--"], ["exec", "--priority", "3"], ["exec", "--preload", "--"], ["record", "--out", "x"]):
            with self.subTest(words=words):
                self.assertIn("bash", self.bash(*words, "bas"))
                self.assertEqual(self.bash(*words, "cat", "som"), ["some.yaml"])
        self.assertEqual(self.bash("exec", "--pri"), ["--priority"])

    def test_every_script_has_every_option(self):
        scripts = {shell: self.script(shell).read_text() for shell in SHELLS}
        commands = self.bash("")
        self.assertGreater(len(commands), 15)
        for command in commands:
            shown = self.gangway(command, "--help").stdout
            for option in re.findall(r"^  (?:-\w,)?--([\w-]+)", shown, re.MULTILINE):
                with self.subTest(command=command, option=option):
                    self.assertIn(f"--{option}", self.bash(command, "-"))
                    part = re.search(rf"^ +{command}\)\n(.*?);;$", scripts["zsh"], re.MULTILINE | re.DOTALL)
                    self.assertRegex(part[1], rf"--{option}\b")
                    self.assertRegex(scripts["fish"], rf"'__gangway_at {command}' .*-l {option} ")

    def test_scripts_are_read_by_their_shells(self):
        for shell in SHELLS:
            if not shutil.which(shell):
                continue
            done = subprocess.run([shell, "-n", self.script(shell)], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), shell)

    @unittest.skipUnless(shutil.which("fish"), "there is no fish")
    def test_fish(self):
        def offers(line):
            environment = {**os.environ, "PATH": f"{GANGWAY.parent}:{os.environ['PATH']}", "HOME": str(self.folder)}
            done = subprocess.run(["fish", "-c", 'source $argv[1]; complete -C $argv[2]', self.script("fish"), line], cwd=self.folder,
                                  capture_output=True, text=True, env=environment)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return [offer.split("\t")[0] for offer in done.stdout.splitlines()]

        self.assertEqual(offers("gangway ru"), ["run"])
        self.assertEqual(offers("gangway run --wo"), ["--world"])
        self.assertEqual(offers("gangway list pol"), ["policies"])
        self.assertEqual(sorted(offers("gangway run --world ")), self.listed("worlds"))
        self.assertEqual(offers("gangway run --jobs 3 frs/fig3"), ["frs/fig3"])

    def test_wrong_calls(self):
        self.refused("completion")
        self.refused("completion", "tcsh")

    def test_files_that_come_with_it_are_completed_anywhere(self):
        self.assertTrue((ROOT / "experiments/frs/fig3.yaml").exists())
        self.assertEqual(self.bash("run", "frs/fig3"), ["frs/fig3"])


if __name__ == "__main__":
    unittest.main()
