"""The stand-in exports what the toolkit's own stub of the driver exports.

    test_symbols.py STANDIN STUB
"""
import subprocess
import sys


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if " T " in line}


ours, theirs = exported(sys.argv[1]), exported(sys.argv[2])
if len(theirs) < 600:
    sys.exit(f"test_symbols.py: {sys.argv[2]} exports {len(theirs)} functions, expected more than 600")
if missing := sorted(theirs - ours):
    sys.exit(f"test_symbols.py: {sys.argv[1]} lacks {', '.join(missing)}")
if stray := sorted(name for name in ours - theirs if not name.startswith("standin_")):
    sys.exit(f"test_symbols.py: {sys.argv[1]} exports more than the driver does: {', '.join(stray)}")
print(f"{len(theirs)} functions")
