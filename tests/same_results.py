#!/usr/bin/env python3
"""Whether two programs leave the same results: every experiment is run with both, and the folders are compared.

    same_results.py (COMMIT | --before PROGRAM) --after PROGRAM [--only TEXT] [--out FOLDER] [--jobs 2] <runs

Each line of standard input is an experiment file and the options to run it with ("./dev same-results" gives those of experiments/).
COMMIT is built in a temporary git worktree. Both programs get the experiments and the data of this tree, so only the programs differ.
All files are compared byte for byte, compressed ones by their content, too, to name the line that differs. Of manifest.json
everything counts but what tells when, where and with which program the results were made. Results are kept in a temporary folder, or
in FOLDER: there a program's results are used again if they are complete.

One line for each experiment. Exit code 0: all the same; 1: results differ, or an experiment could not be run; 2: wrong input.
"""
import argparse
import concurrent.futures
import gzip
import hashlib
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MANIFEST = "manifest.json"
# What two runs of the same configuration need not share. `events` counts steps of the simulator, which are no result.
OF_THE_RUN = {"program", "gangway", "commit", "compiler", "command", "host", "machine", "threads", "start", "end", "seconds", "resumed",
              "events", "events_per_second", "jobs_per_second"}
WIDTH = 80  # characters shown of a line that differs


class WrongInput(Exception):
    pass


def files_below(folder):
    return {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}


def flat(key, value):
    """A JSON value as lines 'a.b.c: value'."""
    if isinstance(value, (dict, list)) and value:
        for name, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from flat(f"{key}.{name}" if key else name, part)
    else:
        yield f"{key}: {json.dumps(value)}".encode()


def facts(path):
    """Of a manifest, without what belongs to one run."""
    manifest = json.loads(path.read_text(encoding="utf-8"))
    return flat("", {key: value for key, value in manifest.items() if key not in OF_THE_RUN})


def lines(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        yield from file


def shown(line):
    if line is None:
        return "nothing"
    text = line.decode("utf-8", "replace").rstrip("\n")
    return repr(text if len(text) <= WIDTH else text[:WIDTH] + "...")


def first_line(before, after):
    """'LINE: before ..., after ...' for the first line that differs, or None. The part of a long line that is shown begins shortly
    before the difference."""
    for number, (old, new) in enumerate(itertools.zip_longest(before, after), 1):
        if old != new:
            if old is not None and new is not None and len(old) > WIDTH:
                start = max(0, len(os.path.commonprefix([old, new])) - WIDTH // 2)
                old, new = old[start:], new[start:]
            return f"{number}: before {shown(old)}, after {shown(new)}"
    return None


def same_bytes(before, after):
    if before.stat().st_size != after.stat().st_size:
        return False
    with open(before, "rb") as old, open(after, "rb") as new:
        while block := old.read(1 << 20):
            if block != new.read(1 << 20):
                return False
    return True


def difference_in(name, before, after):
    """Of one file that both folders have: 'NAME:LINE: ...', or None."""
    if pathlib.PurePath(name).name == MANIFEST:
        line = first_line(facts(before), facts(after))
        return line and f"{name}: {line.split(': ', 1)[1]}"
    if same_bytes(before, after):
        return None
    line = first_line(lines(before), lines(after))
    return f"{name}:{line}" if line else f"{name}: compressed differently"


def differences(before, after):
    """Between two folders, a text for each file that differs, in the order of their names."""
    old, new = files_below(before), files_below(after)
    found = []
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            found.append(f"{name}: missing after")
        elif name not in old:
            found.append(f"{name}: missing before")
        elif text := difference_in(name, old[name], new[name]):
            found.append(text)
    return found


def short_hash(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


class Run:
    """An experiment, and how it is run."""

    def __init__(self, line):
        self.file, *self.options = line.split()
        self.name = self.file.removeprefix("experiments/").removesuffix(".yaml")

    def play(self, program, out):
        """Returns what went wrong, if anything did."""
        done = subprocess.run([program, "run", self.file, "--out", out / self.name, "--force", "--jobs", "1", *self.options], cwd=ROOT,
                              env={**os.environ, "GANGWAY_DATA": str(ROOT)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = done.stderr.strip().splitlines()
        return f"exit code {done.returncode}: {said[-1] if said else ''}" if done.returncode else None


def compare(run, programs, outs, keep):
    """Returns whether the results are the same, and the line to print."""
    for word, program, out in zip(("before", "after"), programs, outs):
        if wrong := run.play(program, out):
            return False, f"not run {run.name}: {word}: {wrong}"
    folders = [out / run.name for out in outs]
    found = differences(*folders)
    count = len(files_below(folders[1]))
    if not keep and not found:
        for folder in folders:
            shutil.rmtree(folder)
    if not found:
        return True, f"same    {run.name} ({count} files)"
    more = f" (and {len(found) - 1} more files)" if len(found) > 1 else ""
    return False, f"DIFFERS {run.name}: {found[0]}{more}"


def build(commit, scratch):
    """The program of a commit, built in a worktree that is gone afterwards."""
    git = ["git", "-C", str(ROOT)]
    found = subprocess.run([*git, "rev-parse", "--verify", "--quiet", commit + "^{commit}"], stdout=subprocess.PIPE, text=True)
    if found.returncode:
        raise WrongInput(f"found '{commit}', expected a commit of this repository")
    tree = scratch / "tree"
    print(f"building {found.stdout[:12]}", file=sys.stderr, flush=True)
    subprocess.run([*git, "worktree", "add", "--quiet", "--detach", str(tree), found.stdout.strip()], check=True)
    try:
        for command in (["cmake", "--preset", "release"], ["cmake", "--build", "--preset", "release", "--target", "gangway"]):
            done = subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                raise WrongInput(f"{commit} cannot be built: {' '.join(command)}\n{done.stdout[-2000:]}")
        return shutil.copy2(tree / "build/release/gangway", scratch / "gangway")
    finally:
        subprocess.run([*git, "worktree", "remove", "--force", str(tree)], check=True)


def ready(program):
    path = pathlib.Path(program).resolve()
    if not os.access(path, os.X_OK) or path.is_dir():
        raise WrongInput(f"found '{program}', expected a program")
    return path


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?")
    parser.add_argument("--before", metavar="PROGRAM")
    parser.add_argument("--after", metavar="PROGRAM", required=True)
    parser.add_argument("--only", metavar="TEXT", default="", help="experiments with this text in their name")
    parser.add_argument("--out", metavar="FOLDER", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=2, help="experiments at a time")
    options = parser.parse_args()
    if (options.commit is None) == (options.before is None):
        parser.error("found " + ("neither" if options.commit is None else "both") + ", expected COMMIT or --before PROGRAM")
    if options.jobs < 1:
        parser.error(f"--jobs: found {options.jobs}, expected 1 or more")
    return options


def main(options):
    runs = [run for run in map(Run, filter(str.strip, sys.stdin)) if options.only in run.name]
    if not runs:
        raise WrongInput(f"--only: found '{options.only}', expected text in the name of an experiment")
    after = ready(options.after)
    with tempfile.TemporaryDirectory(prefix="same-results-") as scratch:
        scratch = pathlib.Path(scratch)
        before = pathlib.Path(build(options.commit, scratch)) if options.commit else ready(options.before)
        # Neither is replaced by a build while this runs.
        programs = [pathlib.Path(shutil.copy2(program, scratch / name)) for program, name in ((before, "old"), (after, "new"))]
        folder = options.out.resolve() if options.out else scratch / "results"
        outs = [folder / f"{word}-{short_hash(program)}" for word, program in zip(("before", "after"), programs)]
        same = 0
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as workers:
            for good, line in workers.map(lambda run: compare(run, programs, outs, options.out), runs):
                same += good
                print(line, flush=True)
    print(f"{same} of {len(runs)} experiments have the same results")
    return 0 if same == len(runs) else 1


if __name__ == "__main__":
    try:
        sys.exit(main(arguments()))
    except WrongInput as wrong:
        print(f"same_results.py: {wrong}", file=sys.stderr)
        sys.exit(2)
