"""A driver with functions that this build does not know: they are counted, and said once."""

import os
import signal
import unittest

from live_daemon import CLIENT, STANDIN, Daemon, LiveTest, finish

ONE_LINE = "gangway: this driver's {} is newer than this build of Gangway, so its calls are not scheduled; gangway status --json counts such functions\n"


@unittest.skipUnless(STANDIN, "there is no stand-in driver")
class Requests(LiveTest):
    def requested(self, *names, newer):
        """What a program that requests these functions is told, and its stderr and count."""
        daemon = Daemon("--policy", "fcfs")
        program = daemon.start(CLIENT, "requests", "1000000", *names, STANDIN_NEWER=",".join(newer))
        try:
            said = [program.stdout.readline() for _ in names]
            # It has told what it requested before its first submission.
            client, = self.until(lambda: [client for client in daemon.status()["clients"] if client["submissions"] > 0], "it submits")
        finally:
            program.terminate()
        code, _, err = finish(program)
        self.assertEqual(code, -signal.SIGTERM)
        daemon.end()
        return said, err, client["functions_not_known"]

    def test_new_functions(self):
        names = ("cuLaunchLater", "cuMemAlloc", "cuMemcpyWithEverythingAsync")
        said, err, count = self.requested(*names, newer=("cuMemcpyWithEverythingAsync", "cuLaunchLater"))
        self.assertEqual(said, [f"{name}: found\n" for name in names])
        self.assertEqual((err, count), (ONE_LINE.format("cuLaunchLater"), 2))

    def test_newer_versions_of_gated_functions(self):
        _, err, count = self.requested("cuLaunchKernel", newer=["cuLaunchKernel"])
        self.assertEqual((err, count), (ONE_LINE.format("cuLaunchKernel"), 1))

    def test_what_is_no_business_of_the_gate(self):
        """A newer version of what need not pass the gate; what the runtime asks for at its start, though no cuda.h has it; no function at all."""
        newer = ("cuDeviceGetName", "cuGraphicsGLRegisterBuffer", "cuEGLStreamConsumerConnect", "cuGraphicsResourceGetMappedEglFrame",
                 "cuVDPAUGetDevice", "cuGLGetDevices")
        lacking = ("cuLaunchLater", "cuD3D9GetDevice")
        said, err, count = self.requested(*newer, *lacking, "cuMemcpyDtoHAsync", "cuGetExportTable", "cuProfilerStart", newer=newer)
        self.assertEqual(said[:8], [f"{name}: found\n" for name in newer] + [f"{name}: not found\n" for name in lacking])
        self.assertEqual((err, count), ("", 0))

    def test_every_function_of_the_header(self):
        """None of the driver's own answers is taken for a newer one, in its latest version and its first."""
        table = os.path.join(os.path.dirname(__file__), "..", "..", "hw", "intercept", "functions.def")
        with open(table) as lines:
            listed = [line.split("(")[1].split(")")[0].split(",")[0] for line in lines if line[:1].isupper()]
        names = sorted({name.removesuffix("_ptsz").removesuffix("_ptds").removesuffix("_v2").removesuffix("_v3") for name in listed})
        self.assertGreater(len(names), 400)
        said, err, count = self.requested(*names, *(name + "@2000" for name in names), newer=())
        self.assertGreater(len([line for line in said if line.endswith(": found\n")]), 400)
        self.assertIn("cuMemAlloc@2000: found\n", said)
        self.assertEqual((err, count), ("", 0))


@unittest.skipUnless(STANDIN, "there is no stand-in driver")
class Serve(unittest.TestCase):
    def said(self, **driver):
        daemon = Daemon("--policy", "fcfs", around={"LD_LIBRARY_PATH": STANDIN, **driver})
        self.assertEqual(daemon.status()["clients"], [])
        return daemon.end()[1]

    def test_a_newer_driver(self):
        self.assertEqual(self.said(STANDIN_DRIVER_VERSION="13020"),
                         "note: the driver is of CUDA 13.2, newer than this build of Gangway (13.0): its new functions bypass the gate; "
                         "see functions_not_known in gangway status --json\n")

    def test_a_known_driver(self):
        self.assertEqual(self.said(STANDIN_DRIVER_VERSION="13000"), "")
        self.assertEqual(self.said(STANDIN_DRIVER_VERSION="12040"), "")


if __name__ == "__main__":
    unittest.main()
