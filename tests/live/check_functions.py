"""Holds hw/intercept/functions.def against the headers at hand: every function in one class, none twice."""

import argparse
import os
import re
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--compiler", required=True)
parser.add_argument("--include", required=True)
arguments = parser.parse_args()

table = os.path.join(os.path.dirname(__file__), "..", "..", "hw", "intercept", "functions.def")
listed = re.findall(r"^(?:SUBMISSION|SYNCHRONISATION|OBSERVED|SERVED|PASSED)\((\w+)", open(table).read(), re.M)
source = "#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n#include <cudaProfiler.h>\n"
text = subprocess.run([arguments.compiler, "-x", "c++", "-E", "-P", "-I", arguments.include, "-"], input=source,
                      capture_output=True, text=True, check=True).stdout
declared = set(re.findall(r"\bCUresult\s+(cu[A-Z]\w*)\s*\(", text))
missing, gone = sorted(declared - set(listed)), sorted(set(listed) - declared)
twice = sorted({name for name in listed if listed.count(name) > 1})
for what, names in (("in cuda.h and not in functions.def", missing), ("in functions.def and not in cuda.h", gone),
                    ("twice in functions.def", twice)):
    if names:
        print(f"{what}: {' '.join(names)}")
if len(declared) < 600:
    print(f"only {len(declared)} functions were found in cuda.h")
sys.exit(1 if missing or gone or twice or len(declared) < 600 else 0)
