"""Jobs that never end, and clients that are killed for it."""

import unittest

from program import ProgramTest, table

DEVICE = """device: {kind: device, version: 1, name: d, source: x, sms: 4, sm: {threads: 2048, blocks: 32, registers: 65536,
    shared_memory: 96 KiB}, copy: {h2d: {bandwidth: 12 GB/s, latency: 8 us}, d2h: {bandwidth: 12 GB/s, latency: 8 us}}, arbitration: direct,
  access: {turns: queue}}
mechanism: ideal
"""
KERNEL = "kernels: [{name: k, block_tasks: 1000, time: 1 ms, block: [256]%s}]"

# The first client's job 30 never ends; its jobs come when the one before is done.
ENDLESS = f"""kind: experiment
version: 1
name: endless
workload:
  kind: workload
  version: 1
  name: two
  clients:
    - {{name: endless, repeat: {{jobs: 100, think: 0 ns}}, {KERNEL % ', never_ends: 30'}}}
    - {{name: honest, repeat: {{jobs: 100, think: 0 ns}}, {KERNEL % ''}}}
{DEVICE}"""
KILLING = "policies: [{name: timeslice, params: {slice: 1 ms, limit: 2 ms}}]\n"


class Killed(ProgramTest):
    def played(self, text, *names, code=0):
        """The output, and the tables."""
        done = self.gangway("run", self.file("e.yaml", text), "--out", "out", "--force", code=code)
        return done, *(table(self.folder / "out" / f"{name}.csv") for name in names)

    def test_what_nothing_ends_needs_a_horizon(self):
        text = ENDLESS + KILLING.replace("[", "[passthrough, ")
        done, summary = self.played(text, "summary", code=1)
        error = "client endless: job 30 never ends, and nothing else can happen after"
        lines = [line for line in done.stderr.splitlines() if error in line]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertRegex(lines[0], r"^error: .*passthrough.* such a run needs a `horizon`$")
        self.assertNotIn("\n  ", done.stderr)  # no history
        passthrough, killing = summary
        self.assertIn(error, passthrough["error"])
        self.assertEqual((passthrough["antt"], killing["error"], killing["unfinished"]), ("", "", "1"))
        _, summary = self.played(text + "horizon: 1 s\n", "summary")
        self.assertEqual({row.get("error", "") for row in summary}, {""})


if __name__ == "__main__":
    unittest.main()
