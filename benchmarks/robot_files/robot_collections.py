"""Counts the robot files of collections that load, and runs those that do.

robot_collections.py PLIANTD [--json FILE] [--run SECONDS] [--threads N] [FOLDER...]   as `./dev bench robot_files` runs it

Every URDF, SDF and MJCF file below the folders is read by `pliantd check`. Files without bodies, which others include,
and files that name meshes or files that their collection has nowhere are counted apart: no program can load them.
"""

import argparse
import collections
import concurrent.futures
import functools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

SUFFIXES = (".urdf", ".sdf", ".xml")
ROOT_ELEMENT = re.compile(r"<(robot|sdf|mujoco)\b")
MISSING_FILE = re.compile(r'"([^"]*)": no (?:such file|package)')
MORE_ERRORS = re.compile(r": and \d+ more errors$")
LIMIT = 300  # s for one file


def find_robots(folder):
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file() and ROOT_ELEMENT.search(path.read_text(errors="replace")):
            yield path


def with_progress(results, count, what):
    """Yields `results`, and says every ten seconds how many there were."""
    said = time.monotonic()
    for number, result in enumerate(results, 1):
        if time.monotonic() > said + 10:
            said = time.monotonic()
            print(f"{what} {number} of {count}", file=sys.stderr, flush=True)
        yield result


def errors_in(stderr):
    return [line for line in stderr.splitlines() if ": warning: " not in line and not MORE_ERRORS.search(line)]


@functools.cache
def names_in(collection):
    return {path.name.lower() for path in collection.rglob("*") if path.is_file()}


def lacks_files(errors, collection):
    """Whether the errors are all about other files, of which at least one is nowhere in the collection."""
    named = [MISSING_FILE.search(error) for error in errors]
    if not all(named):
        return False
    names = {re.split(r"[/\\]", match[1])[-1].lower() for match in named}
    return not names <= names_in(collection)


def check(pliantd, path, collection):
    """Returns the kind of outcome ('loads', 'no bodies', 'missing', 'refused') and the first error."""
    try:
        result = subprocess.run([pliantd, "check", path], capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return "refused", f"not read within {LIMIT} s"
    if result.returncode == 0:
        return "loads", ""
    errors = errors_in(result.stderr)
    error = errors[0] if errors else ""
    if "has no bodies" in error or "has no links" in error:
        return "no bodies", error
    return ("missing" if lacks_files(errors, collection) else "refused"), error


def run(pliantd, path, seconds):
    """Returns an empty string if every step converged, else what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [pliantd, "run", path, "--duration", str(seconds), "--threads", "1", "--json", report]
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return f"not simulated within {LIMIT} s"
        if result.returncode != 0:
            return (errors_in(result.stderr) or [f"exit status {result.returncode}"])[0]
        solved = json.loads(report.read_text())["solver"]["converged_fraction"]
        return "" if solved == 1 else f"{1 - solved:.2%} of the steps did not converge"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("pliantd")
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    parser.add_argument("--default", type=pathlib.Path, help="read where no folder is given")
    parser.add_argument("--json", type=pathlib.Path, help="write the counts here")
    parser.add_argument("--run", type=float, default=0, help="also simulate each file for so many seconds on a floor")
    parser.add_argument("--threads", type=int, default=2, help="files at a time")
    options = parser.parse_intermixed_args()
    robots = []  # relative path, path, and folder of its collection
    for folder in options.folders or [options.default]:
        if not folder.is_dir():
            sys.exit(f"{folder}: no such folder")
        for path in find_robots(folder):
            relative = path.relative_to(folder)
            robots.append((relative, path, folder / relative.parts[0] if len(relative.parts) > 1 else folder))
    if not robots:
        sys.exit("no URDF, SDF or MJCF files there")

    counts = collections.defaultdict(collections.Counter)
    trouble, ran, failed = [], 0, []
    with concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
        outcomes = with_progress(pool.map(lambda robot: check(options.pliantd, *robot[1:]), robots), len(robots), "read")
        loaded = []
        for robot, (kind, error) in zip(robots, outcomes):
            counts[robot[0].parts[0]][kind] += 1
            if kind == "loads":
                loaded.append(robot)
            else:
                trouble.append({"file": str(robot[0]), "kind": kind, "error": error})
        if options.run > 0:
            results = pool.map(lambda robot: run(options.pliantd, robot[1], options.run), loaded)
            for robot, wrong in zip(loaded, with_progress(results, len(loaded), "ran")):
                ran += 1
                if wrong:
                    failed.append({"file": str(robot[0]), "error": wrong})

    total = sum(counts.values(), collections.Counter())
    kinds = ("loads", "refused", "no bodies", "missing")
    print(f"{'collection':24}" + "".join(f"{kind:>11}" for kind in kinds))
    for name, of in sorted(counts.items()) + [("all", total)]:
        print(f"{name:24}" + "".join(f"{of[kind]:11}" for kind in kinds))
    for one in trouble + failed:
        print(f"{one['file']}: {one.get('kind', 'run')}: {one['error']}")
    share = total["loads"] / max(1, total["loads"] + total["refused"])
    print(f"{share:.1%} of the files that have bodies and all their meshes load; goal: 97 %")
    if options.run > 0:
        print(f"{ran - len(failed)} of {ran} run for {options.run:g} s with every step converged")
    if options.json:
        options.json.write_text(json.dumps({"suite": "robot_files", "counts": counts, "share": share, "ran": ran,
                                            "not_loaded": trouble, "not_converged": failed}, indent=2) + "\n")


main()
