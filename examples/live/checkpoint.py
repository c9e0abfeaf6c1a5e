"""The driver's own way: lock, checkpoint, restore and unlock another process, and how long each takes.

checkpoint.py PROCESS"""

import ctypes
import json
import sys
import time

driver = ctypes.CDLL("libcuda.so.1")
driver.cuInit(0)
process = int(sys.argv[1])
times = {}
for name in ("Lock", "Checkpoint", "Restore", "Unlock"):
    arguments = (ctypes.c_char * 256)()  # zeros: no limits, the same GPUs
    began = time.perf_counter()
    result = getattr(driver, "cuCheckpointProcess" + name)(process, ctypes.byref(arguments))
    times[name.lower()] = round(time.perf_counter() - began, 3)
    if result != 0:
        times["error"] = result
        break
print(json.dumps(times))
