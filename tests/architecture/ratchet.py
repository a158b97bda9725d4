"""Rules that the tree does not keep everywhere yet. exceptions.json has the number of violations per rule and file.

The list can only shrink: an additional violation fails the test, and so does an exception that no longer occurs.

    python3 tests/architecture/ratchet.py              prints each line that breaks a rule
    python3 tests/architecture/ratchet.py --shrink     removes exceptions that no longer occur; adds none
"""

import collections
import json
import pathlib
import re
import sys

EXCEPTIONS = "tests/architecture/exceptions.json"
SOURCES = {".h", ".cc"}
HOUSE = ["solvers", "physics", "server", "clients", "tests", "benchmarks"]
# Sources of the page, for the rules on words.
PAGE, PAGE_SOURCES = "web_viewer/src", {".ts"}
MAX_COLUMNS = 100

# Sources that build bodies and methods from a scene may name all of them.
SCENE = r"physics/scene/"
# Patterns that name a kind of body: its types, the member for the kind, or a test for a missing ability.
BODIES = {
    "fem": r"\bFem[A-Z]\w*",
    "rigid": r"(?<!v1::)\b(JointTree|MaximalTree|FreeBody|KinematicBody|RigidBody|FixedBody)(Block|Step)?\b",
    "shell": r"\bShell[A-Z]\w*",
    "mpm": r"\bParticle(Block|Step|Model|Internals|Material)\w*",
    "any": r"(\.|->|\bbool )deformable\b|\bteam_kind\b|\bcompliant_form\(\)\s*[!=]=\s*nullptr|"
           r"\bnum_velocities\(\)\s*([!=]=|>)\s*0\b",
}
METHODS = ["convex", "corrective", "nonsmooth", "smooth"]
# The file with the options of the methods, and the one that creates the stepper of a method.
METHOD_REGISTRIES = {"physics/dynamics/options.h", "physics/stepping/stepper.cc"}


def strip_comments(text):
    """Returns the text without comments and string contents, with the same line numbers."""
    def blank(match):
        found = match[0]
        return '""' if found[0] == '"' else re.sub(r"[^\n]", " ", found)

    return re.sub(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', blank, text, flags=re.S)


def casts(file, text):
    if file.startswith(("tests/", "benchmarks/")):
        return
    for number, line in enumerate(strip_comments(text).splitlines(), 1):
        if re.search(r"\bdynamic_(pointer_)?cast\b|\btypeid\b", line):
            yield number, "asks an object for its type"


def named_bodies(file, text):
    if not file.startswith(("solvers/", "physics/", "server/", "clients/")) or re.match(SCENE, file):
        return
    for number, line in enumerate(strip_comments(text).splitlines(), 1):
        for room, pattern in BODIES.items():
            if not file.startswith(f"physics/{room}/") and re.search(pattern, line):
                yield number, f"names a kind of body ({re.search(pattern, line)[0]})"
                break


def named_methods(file, text):
    if not file.startswith(("physics/", "server/", "clients/")) or re.match(SCENE, file) or file in METHOD_REGISTRIES:
        return
    for number, line in enumerate(strip_comments(text).splitlines(), 1):
        for method in METHODS:
            # files of the method itself may name it
            if file.startswith("physics/stepping/") and method in re.split(r"[_/]", file.removesuffix(".h").removesuffix(".cc")):
                continue
            name = method.capitalize()
            pattern = rf"\bMethodKind::k{name}\b|\b{name}(Stepper|Options)\b|\bmethod\.{method}\b"
            if re.search(pattern + (r"|\bis_maximal\(\)" if method == "nonsmooth" else ""), line):
                yield number, f"names a method ({method})"
                break


# Lines of help that show a method as an example.
HELP_EXAMPLES = re.compile(r"\bpliantd \w+ .*--method ")


def quoted_methods(file, text):
    """The server takes the names of methods and of their options from physics."""
    if not file.startswith("server/"):
        return
    for number, line in enumerate(text.splitlines(), 1):
        for quoted in re.findall(r'"((?:\\.|[^"\\])*)"', re.sub(r"(?:^|\s)//.*", "", line)):
            match = re.search(rf"\b({'|'.join(METHODS)})\b|\.?\bcoordinates=", quoted)
            if match and not HELP_EXAMPLES.search(quoted):
                yield number, f"names a method or its option in a string ({match[0]})"


def wide_lines(file, text):
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_COLUMNS:
            yield number, f"{len(line)} columns"


# Names of limits, and of what is found, say max and min. `AtMost` and `AtLeast` are English, as are the names of tests.
MOST_AND_LEAST = re.compile(r"\b(?!\w*At(?:Most|Least))\w*(?:Most|Least)(?![a-z])\w*|\b(?:most|least)_\w*|\b(?!at_)\w+_(?:most|least)\b")


def most_and_least(file, text):
    for number, line in enumerate(strip_comments(text).splitlines(), 1):
        if re.match(r"\s*(TEST\w*|TYPED_TEST)\(", line):
            continue
        if match := MOST_AND_LEAST.search(line):
            yield number, f"{match[0]}: the field says max and min"


def told(file, text):
    """Comments in which things tell, or are told: they report, return, print, receive."""
    for number, line in enumerate(text.splitlines(), 1):
        comment = re.search(r"(?:^|\s)//(.*)", line)
        if comment and (match := re.search(r"\b([Tt]old|[Tt]ells)\b", comment[1])):
            yield number, f"{match[0]}: the field says reported, returns, receives"


# Rooms of the server that take their time from a Timeline, and the files that read the clock for it.
TIMED = ("server/host/", "server/control/", "server/stream/", "server/store/", "server/service/")
CLOCK_READERS = {"server/host/timeline.h", "server/host/timeline.cc"}
# The wall clock may jump. These rooms need it for the validity of tokens and certificates, for the audit log, and because
# gRPC deadlines use it.
CALENDAR_READERS = ("server/auth/", "server/rpc/")


def clocks(file, text):
    if not file.startswith("server/") or file.startswith(CALENDAR_READERS) or file in CLOCK_READERS:
        return
    for number, line in enumerate(strip_comments(text).splitlines(), 1):
        if match := re.search(r"\bsystem_clock\b|\bgettimeofday\b|\bCLOCK_REALTIME\b|\babsl::Now\b", line):
            yield number, f"reads the clock of the calendar ({match[0]}), which may jump"
        if not file.startswith(TIMED):
            continue
        if match := re.search(r"\b(steady|high_resolution)_clock\b|\bsleep_(for|until)\b|\bwait_(for|until)\b", line):
            yield number, f"reads a clock or waits ({match[0]}) without a Timeline"


RULES = {
    "clocks": clocks,
    "dynamic_cast": casts,
    "named_bodies": named_bodies,
    "named_methods": named_methods,
    "quoted_methods": quoted_methods,
    "wide_lines": wide_lines,
    "most_and_least": most_and_least,
    "told": told,
}


# Rules that the page keeps, too.
WORDS = {"most_and_least", "told"}


def find(root):
    """Violations: rule → file → [(line, description)]."""
    found = {rule: collections.defaultdict(list) for rule in RULES}
    for top in [*HOUSE, PAGE]:
        suffixes, rules = (PAGE_SOURCES, WORDS) if top == PAGE else (SOURCES, RULES.keys())
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in suffixes or not path.is_file():
                continue
            file = path.relative_to(root).as_posix()
            if file.startswith(f"{PAGE}/gen/"):  # made from the messages of the API
                continue
            text = path.read_text()
            for rule in rules:
                for line, what in RULES[rule](file, text):
                    found[rule][file].append((line, what))
    return found


def read_exceptions(root):
    path = root / EXCEPTIONS
    return json.loads(path.read_text()) if path.exists() else {}


def problems(root):
    """Violations beyond the exceptions, and exceptions that no longer occur."""
    found, exceptions = find(root), read_exceptions(root)
    for rule in sorted(exceptions.keys() - RULES.keys()):
        yield f"{EXCEPTIONS}: there is no rule {rule}"
    for rule, files in found.items():
        allowed = exceptions.get(rule, {})
        for file in sorted(files.keys() | allowed.keys()):
            lines, count = files.get(file, []), allowed.get(file, 0)
            if len(lines) > count:
                where = "; ".join(f"line {line}: {what}" for line, what in lines[:8])
                yield f"{file}: {rule}: {len(lines)} lines where {count} are excepted ({where})"
            elif len(lines) < count:
                yield (f"{EXCEPTIONS}: {rule}: {file} has {len(lines)} of the {count} lines that are excepted; "
                       f"run `python3 tests/architecture/ratchet.py --shrink`")


def shrink(root):
    found, exceptions = find(root), read_exceptions(root)
    shrunk = {rule: {file: min(count, len(found[rule].get(file, []))) for file, count in sorted(exceptions.get(rule, {}).items())}
              for rule in RULES}
    shrunk = {rule: {file: count for file, count in files.items() if count > 0} for rule, files in shrunk.items()}
    (root / EXCEPTIONS).write_text(json.dumps(shrunk, indent=1) + "\n")


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    if "--shrink" in sys.argv[1:]:
        shrink(root)
        return
    for rule, files in find(root).items():
        for file, lines in files.items():
            for line, what in lines:
                print(f"{rule}: {file}:{line}: {what}")


if __name__ == "__main__":
    main()
