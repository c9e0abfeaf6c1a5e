"""What is installed runs wherever it was moved to, and a wheel carries what it needs. INSTALL: a build folder, of which `cmake --install` is
asked for both. The packages themselves are proven by `./dev package --try`, which needs root, mmdebstrap and the network."""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ["GANGWAY_BUILD"])
CMAKE = os.environ.get("GANGWAY_CMAKE", "cmake")
# Nothing of this checkout may be found.
ALONE = {key: value for key, value in os.environ.items() if not key.startswith("GANGWAY_") and key != "PYTHONPATH"}


class Installed(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def install(self, component):
        prefix = self.folder / "installed"
        done = subprocess.run([CMAKE, "--install", BUILD, "--prefix", prefix, "--component", component], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        moved = self.folder / "moved to another place"
        prefix.rename(moved)
        return moved

    def use(self, program, data, **environment):
        """The program runs an experiment of its own data."""
        def run(*arguments):
            done = subprocess.run([program, *arguments], cwd=self.folder, capture_output=True, text=True, env={**ALONE, **environment})
            self.assertEqual(done.returncode, 0, done.stderr)  # notes on the results may be there
            return done.stdout
        for what, least in (("experiments", 100), ("workloads", 5), ("devices", 5)):
            listed = json.loads(run("list", what, "--json"))
            self.assertGreater(len(listed), least)
            for item in listed:
                self.assertTrue(pathlib.Path(item["path"]).is_relative_to(data), item)
        self.assertIn("results in", run("run", "frs/fig4", "--set", "replications=1", "--out", "out"))
        self.assertTrue((self.folder / "out/published.csv").is_file())
        run("run", "colocation/live", "--set", "replications=1", "--set", "horizon=1 s", "--out", "recorded")  # it names recordings
        run("new", "policy", "mine")
        run("check", *(item["path"] for item in json.loads(run("list", "experiments", "--json"))))

    def test_what_cmake_installs_may_be_moved(self):
        folder = self.install("program")
        self.use(folder / "bin/gangway", folder / "share/gangway")
        for file in ("share/bash-completion/completions/gangway", "share/fish/vendor_completions.d/gangway.fish", "lib/systemd/system/gangway.service",
                     "lib/systemd/system/gangway@.service", "share/man/man1/gangway.1.gz", "include/gangway/preemptible.cuh"):
            self.assertTrue((folder / file).stat().st_size, file)
        empty = [path for path in folder.rglob("*") if path.is_dir() and not any(path.iterdir())]
        self.assertEqual(empty, [])
        libraries = {path.name for path in BUILD.glob("libgangway-*.so")}
        self.assertEqual({path.name for path in (folder / "lib/gangway").glob("*")} if libraries else set(), libraries)

    def test_the_manual_names_every_command(self):
        text = gzip.decompress((BUILD / "packaging/gangway.1.gz").read_bytes()).decode()
        described = subprocess.run([BUILD / "gangway", "--help"], capture_output=True, text=True, check=True).stdout
        commands = re.findall(r"^  ([a-z]+) {2,}", described.split("Subcommands:")[1], re.MULTILINE)
        self.assertGreater(len(commands), 15)
        self.assertEqual(re.findall(r"^\.SS (\w+)$", text, re.MULTILINE), commands)
        if shutil.which("man"):
            done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", BUILD / "packaging/gangway.1.gz"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def units(self):
        """The units, as if installed with the program of this build."""
        for name in ("gangway.service", "gangway@.service"):
            text = (BUILD / "packaging" / name).read_text()
            program = re.search(r"^ExecStart=(\S+/gangway) serve ", text, re.MULTILINE)[1]
            (self.folder / name).write_text(text.replace(program, str(BUILD / "gangway")))
            yield self.folder / name

    def test_systemd_takes_the_units(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("there is no systemd")
        one, template = self.units()
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", one, str(template).replace("@", "@1")],
                              capture_output=True, text=True, env={**ALONE, "SYSTEMD_LOG_LEVEL": "info"})
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_programs_find_the_sockets_of_the_units(self):
        for unit in self.units():
            runtime = re.search("^Environment=XDG_RUNTIME_DIR=(.+)$", unit.read_text(), re.MULTILINE)[1]
            said = subprocess.run([BUILD / "gangway", "exec", "--help"], capture_output=True, text=True, check=True,
                                  env={**ALONE, "XDG_RUNTIME_DIR": runtime}).stdout
            default, service = re.search(r"\(default (\S+), with -N for GPU N from 1 on; if there is none, the service's: (\S+), also with -N\)",
                                         " ".join(said.split())).groups()
            self.assertEqual(default, service)
            self.assertIn(f"\nRuntimeDirectory={pathlib.Path(service).parent.name}\n", unit.read_text())

    def test_a_wheel_carries_program_and_data(self):
        if not list((BUILD / "python/gangway").glob("_core*")):
            self.skipTest("the Python module is not built")
        folder = self.install("python") / "gangway"
        self.assertEqual(len(list(folder.glob("_core*.so"))), 1)
        self.use(folder / "bin/gangway", folder / "data", GANGWAY_DATA=str(folder / "data"))
        self.assertIn('wheel.packages = ["analysis/gangway"]', (ROOT / "pyproject.toml").read_text())
        self.assertTrue((ROOT / "analysis/gangway/metrics.json").is_file())  # of the package, beside its modules


if __name__ == "__main__":
    unittest.main()
