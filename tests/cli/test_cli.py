"""Arguments, messages and exit codes."""

import json
import os
import re
import subprocess
import unittest

from program import GANGWAY, ProgramTest, ROOT, SMALL, TINY, contents, manifest, table


class Calls(ProgramTest):
    def test_help_and_version(self):
        for arguments in [["--help"], ["--version"], *([c, "--help"] for c in ("run", "check", "compare", "list", "trace"))]:
            with self.subTest(arguments=arguments):
                done = self.gangway(*arguments)
                self.assertNotEqual(done.stdout, "")
                self.assertEqual(done.stderr, "")

    def test_help_says_what_values_are_in_plain_words(self):
        listed = self.gangway("--help").stdout.split("Subcommands:\n")[1]
        for command in re.findall(r"^  (\S+) ", listed, re.MULTILINE):
            with self.subTest(command=command):
                shown = self.gangway(command, "--help").stdout
                self.assertNotRegex(shown, r"\b(U?INT|FLOAT|TEXT)\b| in \[|->\d|Excludes")
                self.assertLessEqual(max(map(len, shown.split("Options:")[1].splitlines())), 110)
        self.assertRegex(self.gangway("run", "--help").stdout, r"--jobs N \(1 to 1024\) +worker threads")
        self.assertRegex(self.gangway("serve", "--help").stdout, r"--forms \{none,worth,all\}\s")
        self.assertRegex(self.gangway("bound", "--help").stdout, r"--steps N \(1 to \d+\) \(not with --search\)")

    def test_a_wrong_call_names_the_help_of_its_command(self):
        self.assertTrue(self.refused().rstrip().endswith("(see gangway --help)"))
        self.assertTrue(self.refused("run").rstrip().endswith("(see gangway run --help)"))

    def test_wrong_calls(self):
        file = self.file("small.yaml", SMALL)
        for arguments in [
            [],
            ["walk"],
            ["--fast"],
            ["run"],
            ["run", file, "--fast"],
            ["run", file, "--jobs", "0"],
            ["run", file, "--jobs", "many"],
            ["run", file, "--seed", "-1"],
            ["run", file, "--seed", "x"],
            ["run", file, "--out"],
            ["run", file, file],
            ["check"],
            ["list"],
            ["list", "policy"],
            ["trace"],
        ]:
            with self.subTest(arguments=arguments):
                self.refused(*arguments)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["small.yaml"])

    def test_unknown_command(self):
        self.assertIn("found 'rnu', expected one of", message := self.refused("rnu", "small.yaml"))
        self.assertIn("did you mean 'run'?", message)

    def test_unknown_world(self):
        message = self.refused("run", self.file("small.yaml", SMALL), "--world", "simm")
        self.assertIn("did you mean 'sim'?", message)


class Messages(ProgramTest):
    def test_nothing_swept(self):
        file = self.file("small.yaml", SMALL)
        self.gangway("run", file, "--set", "sweep={}", "--out", "out")
        self.assertEqual({row["point"] for row in table(self.folder / "out/summary.csv")}, {"0"})
        self.assertNotIn("workload.arrivals.gap", (self.folder / "out/summary.csv").read_text())

    def test_experiments_are_listed_with_their_titles(self):
        listed = json.loads(self.gangway("list", "experiments", "--json").stdout)
        shown = self.gangway("list", "experiments").stdout.splitlines()
        self.assertEqual(len(shown), len(listed))
        for item, line in zip(listed, shown):
            self.assertEqual(line.split(None, 1), [item["name"], item["title"] or item["path"]])
            self.assertTrue(item["path"].endswith(f"/{item['name']}.yaml"))
        self.assertGreater(sum(bool(item["title"]) for item in listed), len(listed) / 2)

    def test_empty_lists_and_mappings_are_called_so(self):
        file = self.file("small.yaml", SMALL)
        message = self.refused("run", file, "--set", "policies=[]")
        self.assertTrue(message.endswith("key 'policies': found an empty list, expected a list with at least one item"), message)
        message = self.refused("run", file, "--set", "sweep=[]")
        self.assertIn("key 'sweep': found an empty list, expected a mapping", message)
        message = self.refused("run", file, "--set", "workload={}")
        self.assertIn("expected this key, which is required", message)
        message = self.refused("run", file, "--set", "policies={}")
        self.assertIn("found an empty mapping, expected a list", message)

    def test_data_that_are_not_where_they_should_be(self):
        file = self.file("small.yaml", SMALL)
        for data in ("nowhere", str(file)):
            environment = {**os.environ, "GANGWAY_DATA": data}
            for arguments in (["list", "experiments"], ["list", "devices"], ["list", "workloads"], ["run", "frs/fig4"], ["check", file]):
                with self.subTest(data=data, arguments=arguments):
                    done = subprocess.run([GANGWAY, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, env=environment)
                    self.assertEqual((done.returncode, done.stdout), (2, ""))
                    self.assertRegex(done.stderr, r"\Aerror: GANGWAY_DATA: key '\w+': found no folder '[^']+', expected a folder with "
                                                  r"models/devices, workloads and experiments\n\Z")
        own = SMALL.replace("frs-table1", str(ROOT / "workloads/frs-table1.yaml")).replace(
            "titan-x-pascal", str(ROOT / "models/devices/titan-x-pascal.yaml"))  # needs none of it
        done = subprocess.run([GANGWAY, "check", self.file("own.yaml", own)], capture_output=True, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_names_that_tables_would_lose(self):
        client = "kind: workload\nversion: 1\nname: w\nclients:\n  - name: {}\n    kernels: [{{name: k, block_tasks: 1, time: 1 ms}}]\n"
        for name in ("NA", "nan", "NaN", "-nan", "null", "NULL", "None", "N/A", "<NA>", "'#N/A'", "''"):
            with self.subTest(name):
                message = self.refused("check", self.file("w.yaml", client.format(name)))
                self.assertIn("w.yaml:5: key 'clients.0.name': found ", message)
        for name in ("empty", "na", "none", "Nan", "nano", "N-A", "NA2"):
            with self.subTest(name):
                self.gangway("check", self.file("w.yaml", client.format(name)))
        message = self.refused("check", self.file("e.yaml", SMALL.replace("label: rr-long", "label: NA")))
        self.assertIn("e.yaml:7: key 'policies.2.label': found 'NA', expected a name that table readers such as pandas do not treat as a missing value", message)

    def test_names_survive_pandas(self):
        pandas = pandas_or_skip()
        names = ["empty", "na", "none", "Nan", "inf", "true", "1e5x"]
        clients = ", ".join(f"{{name: {name}, kernels: [{{name: k, block_tasks: 10, time: 1 ms}}]}}" for name in names)
        text = SMALL.replace("frs-table1", f"{{kind: workload, version: 1, name: w, arrivals: {{gap: 1 ms, order: permuted}}, clients: [{clients}]}}")
        self.gangway("run", self.file("e.yaml", text), "--out", "out")
        for file in ("jobs.csv", "clients.csv"):
            self.assertEqual(set(pandas.read_csv(self.folder / "out" / file)["client"]), set(names))


def pandas_or_skip():
    try:
        import pandas
    except ImportError:
        raise unittest.SkipTest("no pandas") from None
    return pandas


class Check(ProgramTest):
    def test_each_file_gets_its_verdict(self):
        good = self.file("good.yaml", SMALL)
        bad = self.file("bad.yaml", SMALL.replace("rr,", "rrr,"))
        device = ROOT / "models/devices/titan-x-pascal.yaml"
        workload = ROOT / "workloads/frs-table1.yaml"
        done = self.gangway("check", good, bad, device, "absent.yaml", workload, code=2)
        self.assertEqual(
            done.stdout.splitlines(), [f"{good}: experiment, fine", f"{device}: device, fine", f"{workload}: workload, fine"]
        )
        complaints = done.stderr.splitlines()
        self.assertEqual(len(complaints), 2)
        self.assertTrue(complaints[0].startswith(f"error: {bad}:7: key 'policies.1': found 'rrr', expected one of"))
        self.assertIn("No such file", complaints[1])

    def test_all_fine(self):
        done = self.gangway("check", self.file("good.yaml", SMALL))
        self.assertEqual(done.stderr, "")

    def test_what_is_no_file_of_some_size(self):
        (self.folder / "folder").mkdir()
        large = self.file("large.yaml", "#" * (16 * 1024 * 1024 + 1))
        for path in ["absent.yaml", "folder", "/dev/zero", large]:
            with self.subTest(path=path):
                self.refused("check", path)

    def test_an_error_in_a_file_that_an_experiment_names_is_placed_there(self):
        (self.folder / "parts").mkdir()
        self.file("parts/w.yaml", "kind: workload\nversion: 1\nname: w\nclients:\n  - {name: A, kernels: [{name: k, block_tasks: 1, time: 0 s}]}\n")
        message = self.refused("check", self.file("e.yaml", SMALL.replace("frs-table1", "parts/w.yaml")))
        self.assertIn("parts/w.yaml:5: key 'workload.clients.0.kernels.0.time'", message)


class List(ProgramTest):
    def test_every_kind_as_text_and_as_json(self):
        for what, one in {
            "policies": "frs",
            "mechanisms": "flag-copy",
            "generators": "log-uniform",
            "worlds": "sim",
            "devices": "titan-x-pascal",
            "workloads": "frs-table1",
            "experiments": "frs/fig4",
        }.items():
            with self.subTest(what=what):
                listed = json.loads(self.gangway("list", what, "--json").stdout)
                self.assertIn(one, [item["name"] for item in listed])
                for item in listed:
                    self.assertIn("path" if what in ("devices", "workloads", "experiments") else "summary", item)
                    for parameter in item.get("parameters", []):
                        self.assertEqual(sorted(parameter), ["default", "name", "range", "summary"])
                self.assertIn(one, self.gangway("list", what).stdout)

    def test_everything_that_comes_with_gangway_is_fine(self):
        # Those that hold all policies against each other, with clients of one priority.
        every = re.compile(r"note: \S+/(all/neon|live/four-gpus|live/two-gpus)\.yaml: the order of piv by priority has no effect, .*")
        for what in ("devices", "workloads", "experiments"):
            listed = json.loads(self.gangway("list", what, "--json").stdout)
            said = self.gangway("check", *(item["path"] for item in listed)).stderr.splitlines()
            self.assertEqual([line for line in said if not every.fullmatch(line)], [])


class Run(ProgramTest):
    def test_unknown_policy_names_the_nearest_and_writes_nothing(self):
        message = self.refused("run", self.file("e.yaml", SMALL.replace("[sjf,", "[sjff,")), "--out", "out")
        self.assertRegex(message, r"e\.yaml:7: key 'policies\.0': found 'sjff', expected one of .*\bsjf, srt\b.* \(did you mean 'sjf'\?\)$")
        self.assertFalse((self.folder / "out").exists())

    def test_wrong_overrides_are_refused_and_write_nothing(self):
        file = self.file("e.yaml", SMALL)
        for override, part in {
            "policies.rrr.params.quantum=1 ms": "did you mean 'rr'?",
            "policies.rr.params.quantm=1 ms": "did you mean 'quantum'?",
            "policies.rr.params.quantum=1": "'1', expected a time with a unit",
            "policies.rr.params.quantum=0 ms": "from 1 us to 100 s",
            # An index says nothing of what it leads to, so its name is beside it.
            "policies.7.params.quantum=1 ms": "key 'policies.7.params.quantum': found '7', expected one of 0 (sjf), 1 (rr), 2 (rr-long)",
            "policies.0.params.quantum=1 ms": "--set policies.0 (sjf).params.quantum:1: key 'policies.0.params.quantum': found an unknown key",
            "workload.clients.0.kernels.0.time=1": "--set workload.clients.0 (CEDD).kernels.0 (GCEDD).time:1: key",
            "polices=[rr]": "did you mean 'policies'?",
            "workload.clients.VX.priority=1": "did you mean 'VA'?",
            "workload=frs-table2": "did you mean 'frs-table1'?",
            "device.sms=[": "invalid YAML",
            "policies=": "key 'policies': found nothing, expected a value",
            "sed=3": "did you mean 'seed'?",
            "policies..params=1": "an empty name in the path",
            "seed": "no path=value",
            "=3": "no path=value",
        }.items():
            with self.subTest(override=override):
                self.assertIn(part, self.refused("run", file, "--out", "out", "--set", override))
                self.assertFalse((self.folder / "out").exists())

    def test_a_value_is_given_once(self):
        file = self.file("e.yaml", SMALL)
        for options, part in {
            ("--set", "seed=3", "--set", "seed=3"): "key 'seed': found two values, expected one",
            ("--set", "seed=3", "--seed", "4"): "one, of --set or of --seed",
        }.items():
            self.assertIn(part, self.refused("run", file, "--out", "out", *options))
        twice = "sweep={policies.rr.params.quantum: [{label: x, value: 1 ms}, {label: x, value: 2 ms}]}"
        self.assertIn("'x' twice, expected a label of its own", self.refused("run", file, "--out", "out", "--set", twice))
        self.assertIn("'VA' twice, expected each client once", self.refused("run", file, "--out", "out", "--set", "clients=[VA, BS, VA]"))

    def test_no_value_undoes_another(self):
        file = self.file("e.yaml", SMALL)
        index = [row["name"] if isinstance(row, dict) else row for row in self.policies(file)].index("rr")
        quantum = "policies.rr.params.quantum"
        for first, second in ((f"policies.{index}.params.quantum=1 ms", f"{quantum}=2 ms"), (f"{quantum}=2 ms", "policies=[rr]"),
                              ("device.commands.launch=7 us", "device.commands={evict: 3 us}")):
            said = self.refused("run", file, "--out", "out", "--set", first, "--set", second)
            self.assertIn(f"key '{second.split('=')[0]}': found a value that undoes the one for '{first.split('=')[0]}', expected one value", said)
        self.gangway("run", file, "--out", "out", "--set", "policies=[rr]", "--set", f"{quantum}=2 ms")
        self.assertEqual(manifest(self.folder / "out")["configuration"]["policies"], [{"name": "rr", "params": {"quantum": "2 ms"}}])
        text = SMALL + f"set:\n  {quantum}: 2 ms\n  policies.{index}.params.quantum: 1 ms\n"
        self.assertIn(f"found a value that undoes the one for '{quantum}'", self.refused("run", self.file("set.yaml", text), "--out", "no"))

    def policies(self, file):
        self.gangway("run", file, "--out", "as-it-is")
        return manifest(self.folder / "as-it-is")["configuration"]["policies"]

    def test_replications_that_are_equal_are_told(self):
        warning = "warning: all replications are equal, as nothing here is random"
        fixed, drawn = self.file("fixed.yaml", TINY), self.file("drawn.yaml", SMALL)
        self.assertIn(warning, self.gangway("run", fixed, "--out", "three", "--set", "replications=3").stderr)
        self.assertNotIn(warning, self.gangway("run", fixed, "--out", "one").stderr)
        self.assertNotIn(warning, self.gangway("run", drawn, "--out", "drawn").stderr)

    def test_names_that_cannot_be_those_of_files(self):
        for name, other in (("one", "two"), ("two", "one")):
            (self.folder / name).symlink_to(self.folder / other)
        self.assertIn("one: Too many levels of symbolic links", self.refused("run", "one"))
        self.assertIn("File name too long", self.refused("run", "a" * 5000))

    def test_an_override_takes_effect(self):
        file = self.file("e.yaml", SMALL)
        self.gangway("run", file, "--out", "a")
        self.gangway("run", file, "--out", "b", "--set", "policies.rr.params.quantum=0.25 ms", "--set", "permutations=2")
        before, after = table(self.folder / "a/summary.csv"), table(self.folder / "b/summary.csv")
        for old, new in zip(before, after, strict=True):
            self.assertEqual(int(new["jobs"]), 2 * 2 * 9)
            if old["policy"] == "rr":
                self.assertGreater(float(new["evictions"]), float(old["evictions"]))
        policies = manifest(self.folder / "b")["configuration"]["policies"]
        self.assertIn({"name": "rr", "params": {"quantum": "0.25 ms"}}, policies)

    def test_options_may_stand_before_the_file(self):
        file = self.file("e.yaml", SMALL)
        self.gangway("run", "--set", "seed=5", "--out", "a", file)
        self.gangway("run", "--set", "seed=5", file, "--out", "b")
        self.assert_same_files(contents(self.folder / "a"), contents(self.folder / "b"))

    def test_a_seed_beyond_64_bits_is_refused_as_it_was_given(self):
        message = self.refused("run", self.file("e.yaml", SMALL), "--seed", "99999999999999999999")
        self.assertIn("99999999999999999999", message)

    def test_errors_name_the_option_that_gave_a_seed(self):
        file = self.file("e.yaml", SMALL)
        swept = self.file("s.yaml", SMALL.replace("sweep:\n", "sweep:\n  seed: [1, 2]\n"))
        for path, options, begins in (
            (file, ("--seed", "-1"), "error: --seed:1: key 'seed'"),
            (file, ("--set", "seed=-1"), "error: --set seed:1: key 'seed'"),
            (swept, ("--seed", "5"), "error: --seed: key 'seed': found a seed in addition to the sweep's"),
            (swept, ("--set", "seed=5"), "error: --set: key 'seed': found a seed in addition to the sweep's"),
        ):
            self.assertIn(begins, self.refused("run", path, *options))

    def test_overrides_of_the_workload_and_device_names_come_first(self):
        file = self.file("e.yaml", SMALL.replace("titan-x-pascal", "absent").replace("frs-table1", "absent"))
        sets = ["device.commands.launch=1 us", "device=titan-x-pascal", "workload=frs-table1"]
        self.gangway("run", file, "--out", "a", *(word for s in sets for word in ("--set", s)))
        self.assertEqual(manifest(self.folder / "a")["configuration"]["device"]["commands"]["launch"], "1 us")

    def test_the_seed_changes_results_and_equals_an_override(self):
        file = self.file("e.yaml", SMALL)
        for out, arguments in {"a": [], "b": ["--seed", 2], "c": ["--set", "seed=2"], "d": ["--seed", 1]}.items():
            self.gangway("run", file, "--out", out, *arguments)
        a, b, c, d = (contents(self.folder / out) for out in "abcd")
        self.assertNotEqual(a["summary.csv"], b["summary.csv"])
        self.assert_same_files(b, c)
        self.assert_same_files(a, d)

    def test_an_experiment_that_comes_with_gangway_by_name(self):
        self.gangway("run", "frs/fig4", "--set", "permutations=1", "--set", "replications=1", "--out", "out")
        self.assertEqual(len(table(self.folder / "out/published.csv")), len(manifest(self.folder / "out")["configuration"]["published"]))

    def test_the_default_folder_is_named_after_the_experiment(self):
        self.gangway("run", self.file("e.yaml", SMALL))
        self.assertTrue((self.folder / "out/small/manifest.json").exists())

    def test_times_beyond_the_clock_are_refused(self):
        kernel = "{name: k, block_tasks: 10, time: 1 ms}"
        long = "{name: k%d, block_tasks: 10, time: 8640000 s, transformation_overhead: 100}"
        for name, clients in {
            "period": [f"{{name: A, repeat: {{jobs: 2000, period: 8640000 s}}, kernels: [{kernel}]}}"],
            "think": [f"{{name: A, repeat: {{jobs: 2000, think: 8640000 s}}, kernels: [{kernel}]}}"],
            "kernels": [f"{{name: A, kernels: [{', '.join(long % i for i in range(11))}]}}"],
            "copy": [f"{{name: A, copy_in: 1048576 TiB, kernels: [{kernel}]}}"],
            "copies": [f"{{name: A{i}, copy_out: 7 GiB, kernels: [{kernel}]}}" for i in range(2)],
            "gap": [f"{{name: A{i}, kernels: [{kernel}]}}" for i in range(1500)],
        }.items():
            with self.subTest(times=name):
                arrivals = "arrivals: {gap: 8640000 s}, " if name == "gap" else ""
                workload = f"{{kind: workload, version: 1, name: w, {arrivals}clients: [{', '.join(clients)}]}}"
                text = SMALL.replace("frs-table1", workload).replace("permutations: 3", "").split("sweep:")[0]
                text = text.replace("[sjf, rr, {name: rr, label: rr-long, params: {quantum: 4 ms}}]", "[fcfs]")
                file = self.file(f"{name}.yaml", text + "set: {device.copy.h2d.bandwidth: 1 B/s, device.copy.d2h.bandwidth: 1 B/s}\n")
                done = subprocess.run([GANGWAY, "run", file, "--out", self.folder / name], capture_output=True, text=True)
                self.assertIn(done.returncode, (1, 2), done.stdout)
                self.assertRegex(done.stderr, r"\Aerror: ")
                self.assertFalse((self.folder / name / "summary.csv").exists())

    def test_a_failing_standard_output_is_no_success(self):
        with open("/dev/full", "w") as full:
            for words in (["list", "policies"], ["--help"], ["--version"]):
                done = subprocess.run([GANGWAY, *words], stdout=full, stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, 1, words)

    def test_a_failing_standard_error_changes_no_exit_code(self):
        experiment = self.file("e.yaml", TINY)
        with open("/dev/full", "w") as full:
            for code, words in ((2, ["check", "nosuch.yaml"]), (2, ["nosuch"]), (2, ["run"]),
                                (1, ["run", experiment, "--set", "horizon=1 ns", "--out", "late"]),
                                (0, ["run", experiment, "--trace", "--trace-limit", "1 KiB", "--out", "out"])):
                done = subprocess.run([GANGWAY, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=full)
                self.assertEqual(done.returncode, code, words)
        self.assertTrue((self.folder / "out/summary.csv").exists())

    def test_native_clients_too_need_what_the_mechanism_needs(self):
        native = TINY.replace("{name: A,", "{name: A, native: true,")
        for mechanism in ("basic", "proxy", "proxy-adaptive"):
            for text in (TINY, native):
                said = self.refused("run", self.file("e.yaml", text.replace("ideal", mechanism)), "--set", "device=gtx-670", "--out", "out")
                self.assertIn("found no costs of polls", said)
        one = "device: {kind: device, version: 1, name: d, sms: 1, sm: {threads: 1024, blocks: 1, registers: 65536, shared_memory: 48 KiB}, " \
              "polls: {host: 1 us, device: 300 ns}}"
        small = native.replace("device: titan-x-pascal", one).replace("ideal", "proxy")
        self.assertIn("expected room for 2", self.refused("check", self.file("e.yaml", small)))

    def test_data_that_may_never_end_are_not_read(self):
        os.mkfifo(self.folder / "pipe")
        for name in ("/dev/zero", "pipe", "."):
            text = TINY.replace("{name: A,", "{name: A, arrivals: {file: %s}," % name)
            self.assertIn("which cannot be read", self.refused("check", self.file("e.yaml", text)))

    def test_idle_times_increase_and_have_a_time_each(self):
        experiment = self.file("e.yaml", TINY)
        for given, said in (("[[1 ms, 3 us], [1 ms, 4 us]]", "after_idle.1.0': found 1 ms, expected more than 1 ms"),
                            ("[[0 ns, 3 us]]", "after_idle.0.0': found 0 ns, expected more than 0 ns"),
                            ("[[1 ms]]", "after_idle.0': found a list of 1, expected [idle time, additional time of a launch]"),
                            ("[]", "after_idle': found an empty list"), ("[[1 ms, -3 us]]", "found '-3 us', expected a time")):
            self.assertIn(said, self.refused("run", experiment, "--set", f"device.commands.after_idle={given}", "--out", "out"))

    def test_seeds_are_not_negative(self):
        for words in (["taskset", "uunifast-discard"], ["bound", "nosuch.yaml"]):
            for seed in (-1, 2 ** 63, 2 ** 64, "010", "0x10", "1.5"):
                self.assertIn(f"--seed: found '{seed}', expected a whole number", self.refused(*words, "--seed", seed))


if __name__ == "__main__":
    unittest.main()
