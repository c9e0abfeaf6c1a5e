"""Every file in bad/ is wrong in one way; its first line says how: # expect: LINE | KEY | FOUND | EXPECTED.

FOUND and EXPECTED are parts of the message; LINE and KEY may be *, which stands for any.
"""

import os
import re
import resource
import subprocess
import tempfile
import unittest
from pathlib import Path

GANGWAY = Path(os.environ.get("GANGWAY", "build/release/gangway")).resolve()
BAD = Path(__file__).resolve().parent / "bad"
UNCOMMENTED = {"empty.yaml": "1 | | an empty file | a YAML mapping"}
MOST_MEMORY = 2 << 30


def expectation(path):
    text = UNCOMMENTED.get(path.name)
    if text is None:
        first = path.read_bytes().split(b"\n", 1)[0].decode()
        assert first.startswith("# expect: "), f"{path.name} does not say what to expect"
        text = first.removeprefix("# expect: ")
    line, key, found, expected = (part.strip() for part in text.split("|"))
    return line, key, found, expected


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def gangway(*arguments):
    done = subprocess.run([GANGWAY, *map(str, arguments)], capture_output=True)
    return done.returncode, done.stdout, done.stderr.decode(errors="surrogateescape")


def without_one_newline(text):
    return text[:-1] if text.endswith("\n") else text


class BadFiles(unittest.TestCase):
    files = sorted(BAD.glob("*.yaml"))

    def test_there_are_enough_of_them(self):
        self.assertGreaterEqual(len(self.files), 44)

    def check_message(self, path, message):
        line, key, found, expected = expectation(path)
        self.assertTrue(message.startswith("error: "), message)
        self.assertNotIn("\n", without_one_newline(message), "more than one line")
        self.assertTrue(without_one_newline(message).isprintable(), f"control characters, or no UTF-8: {message!r}")
        parts = re.fullmatch(r"error: (.+?):(\d+):(?: key '(.+?)':)? found (.*), expected (.*)\n", message)
        self.assertIsNotNone(parts, f"not FILE:LINE: key 'KEY': found ..., expected ...: {message!r}")
        self.assertEqual(parts[1], str(path))
        if line != "*":
            self.assertEqual(parts[2], line, f"another line: {message}")
        lines = path.read_bytes().count(b"\n") + 1
        self.assertTrue(1 <= int(parts[2]) <= lines, f"no line of the file: {message}")
        if key != "*":
            self.assertEqual(parts[3] or "", key, f"another key: {message}")
        self.assertIn(found, parts[4])
        self.assertIn(expected, parts[5])

    def test_check_refuses_each_with_one_line(self):
        for path in self.files:
            with self.subTest(file=path.name):
                code, out, message = gangway("check", path)
                self.assertEqual((code, out), (2, b""), message)
                self.check_message(path, message)

    def test_run_refuses_each_and_writes_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in self.files:
                with self.subTest(file=path.name):
                    out = Path(folder) / path.stem
                    code, printed, message = gangway("run", path, "--out", out)
                    self.assertEqual((code, printed), (2, b""), message)
                    self.assertFalse(out.exists())
                    self.assertTrue(message.startswith("error: "), message)
                    self.assertNotIn("\n", without_one_newline(message), "more than one line")

    def test_other_ways_to_write_a_file_are_fine(self):
        device = (Path(__file__).parents[2] / "models/devices/titan-x-pascal.yaml").read_bytes()
        for name, text in {
            "crlf": device.replace(b"\n", b"\r\n"),
            "byte-order-mark": b"\xef\xbb\xbf" + device,
            "no-last-newline": device.rstrip(b"\n"),
            "comment-at-end": device + b"# end",
            "document-marks": b"%YAML 1.2\n---\n" + device + b"...\n",
            "letters-of-other-languages": device.replace(b"source: >-", 'source: >-\n  größer, 長い,'.encode()),
            "anchor-and-alias": device.replace(b"  h2d: {", b"  h2d: &engine {").replace(b"  d2h: {bandwidth: 12 GB/s, latency: 8 us}", b"  d2h: *engine"),
        }.items():
            with self.subTest(file=name), tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"{name}.yaml"
                path.write_bytes(text)
                self.assertEqual(gangway("check", path), (0, f"{path}: device, fine\n".encode(), ""))

    def test_check_is_quick_with_large_files(self):
        header = "kind: workload\nversion: 1\nname: bad\nclients: []\nsource: "
        anchors = "".join(f"&a{i} [" for i in range(450)) + ", ".join(["1"] * 100_000) + "]" * 450
        points = (BAD / "horizon-zero.yaml").read_text().replace("horizon: 0 ms", "sweep:\n") + (
            "  workload.clients.VA.priority: {from: 1, to: 10, step: 1}\n"
            "  policies.rr.params.quantum: {from: 1 ms, to: 1 s, step: 1 ms}\n"
        )
        for name, text, code in [
            ("values", header + "[" + "1, " * 199_000 + "]", 2),
            ("values-too-many", header + "[" + "1, " * 2_000_000 + "]", 2),
            ("keys", header + "{" + ", ".join(f"k{i}: 1" for i in range(90_000)) + "}", 2),
            ("anchors", header + anchors, 2),
            ("one-name", header.replace("bad", "b" * 15_000_000) + "x", 2),
            ("points", points, 0),
        ]:
            with self.subTest(file=name), tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"{name}.yaml"
                path.write_text(text)
                done = subprocess.run([GANGWAY, "check", path], capture_output=True, text=True, preexec_fn=limit_memory)
                self.assertEqual(done.returncode, code, done.stderr)


if __name__ == "__main__":
    unittest.main()
