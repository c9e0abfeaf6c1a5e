#!/usr/bin/env python3
"""Make PTX as real compilers write it, by source: python3 tests/corpus/make.py FOLDER

FOLDER/SOURCE/NAME.sm_ARCHITECTURE.ptx. Needs nvcc 13 for `ours`, `cub` and `thrust`, and PyPI for the others, whose
packages go into a virtual environment of the versions in requirements.txt. No GPU."""

import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ARCHITECTURES = (80, 90)
PACKAGES = ("triton", "numba", "cupy")


def files_of(source):
    if source == "ours":
        return [f for folder in ("hw/kernels", "hw/cuda", "examples/live") for f in sorted((ROOT / folder).glob("*.cu"))]
    return sorted((HERE / source).glob("*.cu"))


def compiled(source, file, architecture, folder):
    """The reason why there is no PTX, if there is none."""
    out = folder / source / f"{file.stem}.sm_{architecture}.ptx"
    out.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["nvcc", "-std=c++20", "-ptx", f"-arch=sm_{architecture}", "-I", ROOT, "-o", out, file],
                          capture_output=True, text=True)
    if done.returncode:
        out.unlink(missing_ok=True)
        lines = [line for line in done.stderr.splitlines() if "error" in line] or ["nvcc failed"]
        return f"skipped {source}/{file.stem}.sm_{architecture}: {lines[0].strip()}"
    if ".entry" not in out.read_text():
        out.unlink()
        return f"skipped {source}/{file.stem}.sm_{architecture}: no kernel in it"
    return None


def by_nvcc(sources, folder, workers):
    if shutil.which("nvcc") is None:
        return [f"skipped {source}: no nvcc in PATH" for source in sources]
    work = [(source, file, a, folder) for source in sources for file in files_of(source) for a in ARCHITECTURES]
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return [reason for reason in pool.map(lambda task: compiled(*task), work) if reason]


def python_of(environment):
    python = environment / "bin" / "python"
    if not python.exists():
        venv.create(environment, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True)
    return python


def by_package(source, folder, python):
    (folder / source).mkdir(parents=True, exist_ok=True)
    done = subprocess.run([python, HERE / f"{source}_kernels.py", folder / source], capture_output=True, text=True)
    reasons = [line for line in done.stdout.splitlines() if line.startswith("skipped")]
    if done.returncode:
        reasons.append(f"skipped the rest of {source}: {done.stderr.strip().splitlines()[-1]}")
    return reasons


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", choices=("ours", "cub", "thrust", *PACKAGES), metavar="SOURCE")
    parser.add_argument("--environment", type=pathlib.Path, help="the virtual environment; default: FOLDER/environment")
    parser.add_argument("--jobs", type=int, default=2, help="files that are compiled at once")
    options = parser.parse_args()
    wanted = options.only or ["ours", "cub", "thrust", *PACKAGES]

    reasons = by_nvcc([s for s in wanted if s not in PACKAGES], options.folder, options.jobs)
    packages = [s for s in wanted if s in PACKAGES]
    if packages:
        try:
            python = python_of(options.environment or options.folder / "environment")
            for source in packages:
                reasons += by_package(source, options.folder, python)
        except subprocess.CalledProcessError:
            reasons += [f"skipped {source}: its packages cannot be installed" for source in packages]

    print("\n".join(reasons))
    for source in wanted:
        modules = list((options.folder / source).glob("*.ptx"))
        kernels = sum(len(re.findall(r"^\s*(?:\.\w+\s+)*\.entry\s", m.read_text(), re.M)) for m in modules)
        print(f"{source}: {len(modules)} modules, {kernels} kernels")
    return 0 if all(any((options.folder / s).glob("*.ptx")) for s in wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
