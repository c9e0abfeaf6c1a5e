#!/usr/bin/env python3
"""Which forms the kernels of the corpus take, why not, and whether ptxas accepts what was written.

    python3 tests/corpus/coverage.py FOLDER --forms-of PROGRAM [--jobs N] [--report FILE] [--only SOURCE...]

FOLDER as make.py fills it; PROGRAM is forms_of.cpp, compiled. Prints a table by source, refusals by reason, and every
module that ptxas refuses though it accepts the original. --report: all refusals, a line each. Ends with 1 if ptxas
refuses a module that was rewritten, or the rewriter could not read one."""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

FORMS = ("slice", "prologue", "loop")


def ptxas(file, architecture):
    """The first line of what it says, or nothing."""
    done = subprocess.run(["ptxas", f"-arch={architecture}", "-o", "/dev/null", file], capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    return (lines or [f"exit status {done.returncode}"])[0]


def judged(module, program):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rewritten.ptx"
        done = subprocess.run([program, module, out], capture_output=True, text=True)
        if done.returncode:
            return {"unusable": f"the rewriter ended with {done.returncode}", "kernels": [], "ptxas": "", "before": "", "seconds": 0}
        result = json.loads(done.stdout)
        target = re.search(r"^\s*\.target\s+(\w+)", module.read_text(), re.M).group(1)
        changed = any(kernel["forms"] for kernel in result["kernels"])
        result["ptxas"] = ptxas(out, target) if changed else ""
        result["before"] = ptxas(module, target) if result["ptxas"] else ""
        return result


def table(rows, header):
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, ["-" * width for width in widths], *rows]:
        print("| " + " | ".join(str(cell).ljust(width) for cell, width in zip(row, widths)) + " |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--forms-of", required=True, type=pathlib.Path, metavar="PROGRAM")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", metavar="SOURCE")
    options = parser.parse_args()

    modules = sorted(m for m in options.folder.glob("*/*.ptx") if not options.only or m.parent.name in options.only)
    if not modules:
        parser.error(f"no modules in {options.folder}")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda module: judged(module, options.forms_of), modules))

    counts, reasons, lines, bad = collections.defaultdict(collections.Counter), collections.Counter(), [], []
    for module, result in zip(modules, results):
        source, name = module.parent.name, f"{module.parent.name}/{module.stem}"
        count = counts[source]
        count["modules"] += 1
        if result["unusable"]:
            count["unusable"] += 1
            bad.append(f"{name}: not understood: {result['unusable']}")
        if result["ptxas"] and not result["before"]:
            count["ptxas"] += 1
            bad.append(f"{name}: ptxas: {result['ptxas']}")
        for kernel in result["kernels"]:
            count["kernels"] += 1
            count["any"] += bool(kernel["forms"])
            for form in kernel["forms"]:
                count[form] += 1
            for refusal in kernel["refused"]:
                reasons[refusal["form"], refusal["reason"]] += 1
                lines.append(f"{name}:{refusal['line']}: {kernel['kernel']}: {refusal['form']}: {refusal['reason']}: "
                             f"{refusal['instruction']}")

    def share(part, all_of):
        return f"{100 * part / all_of:.1f} %" if all_of else ""

    columns = ["modules", "kernels", *FORMS, "any"]
    table([[s, *(c[k] for k in columns), share(c["any"], c["kernels"]), c["unusable"], c["ptxas"]]
           for s, c in sorted(counts.items())],
          ["source", *columns, "share", "not understood", "refused by ptxas"])
    table([[form, reason, n] for (form, reason), n in sorted(reasons.items(), key=lambda item: (item[0][0], -item[1]))],
          ["form", "refused because", "kernels"])
    slowest = max(zip(results, modules), key=lambda pair: pair[0]["seconds"])
    print(f"slowest: {slowest[1].parent.name}/{slowest[1].stem}, {slowest[0]['seconds']:.2f} s")
    for line in bad:
        print(line)
    if options.report:
        options.report.write_text("\n".join(lines) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
