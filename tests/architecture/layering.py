"""Architecture rules: which rooms (modules) may depend on which, where each library may be used, and size limits.

Reads the #includes of the sources and the link lines of CMakeLists.txt and returns violations, one line each.
"""

import pathlib
import re
from collections import defaultdict

import ratchet

SOLVERS = ["solvers/linalg", "solvers/problem", "solvers/hessian", "solvers/convex", "solvers/delassus",
           "solvers/corrective", "solvers/nonsmooth", "solvers/smooth"]
PHYSICS = [f"physics/{room}" for room in
           ("spatial", "geometry", "dynamics", "rigid", "fem", "contact", "control", "stepping", "world", "scene",
            "bodies", "mpm")]

# Room → the other rooms that it may depend on. A folder inside a room belongs to that room.
# stepping does not depend on rigid, fem and mpm: a method never checks the type of a block. mpm uses the materials of fem
# and links nothing else of it.
ROOMS = {
    "solvers/linalg": [],
    "solvers/problem": ["solvers/linalg"],
    "solvers/hessian": ["solvers/linalg", "solvers/problem"],
    "solvers/convex": ["solvers/linalg", "solvers/problem", "solvers/hessian"],
    "solvers/delassus": ["solvers/linalg"],
    "solvers/corrective": ["solvers/linalg", "solvers/delassus", "solvers/problem"],
    "solvers/nonsmooth": ["solvers/linalg", "solvers/problem", "solvers/hessian"],
    "solvers/smooth": ["solvers/linalg", "solvers/problem"],
    "physics/spatial": [],
    "physics/geometry": ["physics/spatial", "solvers/linalg"],
    "physics/dynamics": ["physics/spatial", "physics/geometry", *SOLVERS],
    "physics/rigid": ["physics/spatial", "physics/geometry", "physics/dynamics", *SOLVERS],
    "physics/fem": ["physics/spatial", "physics/geometry", "physics/dynamics", *SOLVERS],
    "physics/mpm": PHYSICS[:3] + ["physics/fem", *SOLVERS],
    "physics/bodies": PHYSICS[:3] + SOLVERS,
    "physics/contact": PHYSICS[:3] + SOLVERS,
    "physics/control": PHYSICS[:3],
    "physics/stepping": PHYSICS[:3] + ["physics/contact", "physics/control", *SOLVERS],
    "physics/world": PHYSICS[:8] + SOLVERS,
    "physics/scene": PHYSICS[:9] + ["physics/bodies", "physics/mpm", "proto", "solvers/convex", "solvers/smooth"],
    "server/host": [*PHYSICS, "proto"],
    "server/signals": [],
    "server/files": [],
    "server/store": [*PHYSICS, "proto", "server/files", "server/host"],
    "server/record": [*PHYSICS, "proto", "server/files", "server/host", "server/store", "server/stream"],
    "server/run": [*PHYSICS, "proto", "server/files", "server/signals", "server/record"],
    "server/control": [*PHYSICS, "proto", "server/host"],
    "server/stream": [*PHYSICS, "proto", "server/host"],
    "server/auth": [],
    "server/uploads": [*PHYSICS, "proto", "server/files", "server/host", "server/stream"],
    "server/service": [*PHYSICS, "proto", "server/auth", "server/host", "server/control", "server/stream",
                       "server/store", "server/record", "server/uploads"],
    "server/connections": [],
    "server/rpc": [*PHYSICS, "proto", "server/auth", "server/host", "server/control", "server/stream",
                   "server/store", "server/record", "server/uploads", "server/service", "server/connections"],
    "server/gateway": [*PHYSICS, "proto", "server/auth", "server/host", "server/control", "server/stream",
                       "server/store", "server/record", "server/uploads", "server/service", "server/connections"],
    "server/serve": [*PHYSICS, "proto", "server/auth", "server/signals", "server/host", "server/control",
                     "server/stream", "server/store", "server/record", "server/uploads", "server/service",
                     "server/connections", "server/rpc",
                     "server/gateway"],
    "server/main": [*PHYSICS, "proto", "server/auth", "server/signals", "server/host", "server/run", "server/serve"],
    "clients/cpp": ["proto"],
    "clients/options": ["proto", "clients/cpp"],
    "clients/cli": ["proto", "clients/cpp", "clients/options"],
    "clients/gamepad": ["proto", "clients/cpp", "clients/options"],
}

# Library → (pattern of its includes, pattern of its name on link lines, where it may be used).
LIBRARIES = {
    "Eigen": (r"Eigen/", r"Eigen3::", ["solvers", "physics", "server", "clients"]),
    "TBB": (r"(oneapi/)?tbb/", r"TBB::", ["solvers", "physics", "server"]),
    "SuiteSparse": (r"(suitesparse/)?(amd|camd|colamd|cholmod|umfpack|SuiteSparse\w*)\.h$",
                    r"\$\{(AMD|CAMD|CHOLMOD|UMFPACK)_LIBRARY\}", ["solvers"]),
    "METIS": (r"metis\.h$", r"\$\{METIS_LIBRARY\}", ["solvers"]),
    "xxHash": (r"xxhash\.h$", r"\$\{XXHASH_LIBRARY\}", ["physics", "server"]),
    "Abseil": (r"absl/", r"absl::", ["solvers", "physics", "server", "clients"]),
    "protobuf": (r"google/protobuf/|google/rpc/", r"protobuf::", ["physics/scene", "server", "clients"]),
    "yaml-cpp": (r"yaml-cpp/", r"yaml-cpp$", ["physics/scene", "server/auth"]),
    "assimp": (r"assimp/", r"\$\{ASSIMP_LIBRARY\}", ["physics/scene"]),
    "meshoptimizer": (r"meshoptimizer\.h$", r"meshoptimizer::", ["physics/scene", "server/stream"]),
    "tinyxml2": (r"tinyxml2\.h$", r"\$\{TINYXML2_LIBRARY\}", ["physics/scene"]),
    "gRPC": (r"grpc(pp)?/", r"gRPC::|proto/stubs$", ["server/rpc", "clients/cpp"]),
    "Qhull": (r"libqhull_r/", r"\$\{QHULL_LIBRARY\}", ["physics/geometry"]),
    "Boost": (r"boost/", r"Boost::", ["server/gateway"]),
    "zstd": (r"zstd\.h$", r"\$\{ZSTD_LIBRARY\}", ["server/record"]),
    "zlib": (r"zlib\.h$", r"ZLIB::", ["server/record"]),
    "OpenSSL": (r"openssl/", r"OpenSSL::", ["server/auth", "server/gateway", "server/uploads", "clients/cpp"]),
    "SDL": (r"SDL2/", r"SDL2::", ["clients/gamepad"]),
    "prometheus-cpp": (r"prometheus/", r"prometheus-cpp::", ["server/gateway"]),
    "spdlog": (r"spdlog/", r"spdlog::", ["server"]),
    "CLI11": (r"CLI/", r"CLI11::", ["server/main", "clients"]),
    "nlohmann_json": (r"nlohmann/", r"nlohmann_json::", ["server", "clients"]),
    "the system": (r"[a-z_0-9]+$|\w+intrin\.h$|(sys|arpa|netinet|net|linux)/|"
                   r"(unistd|signal|spawn|fcntl|poll|pthread|sched|errno|dirent|termios|netdb|dlfcn|ifaddrs|elf|link)\.h$",
                   r"Threads::", ["solvers", "physics", "server", "clients"]),
}

MAX_IDEAS = 14  # maximum per folder; `bvh.h` and `bvh.cc` count as one
MAX_LINES = 800
SOURCES = {".h", ".cc", ".ts", ".py", ".proto"}
HOUSE = ["solvers", "physics", "server", "clients", "web_viewer", "tests", "benchmarks", "proto"]
FETCHED_OR_MADE = {"node_modules", "dist", "gen", "proto_gen", "__pycache__"}


def room_of(path):
    """The room that contains a path, or None."""
    parts = pathlib.PurePosixPath(path).parts
    if parts[:2] == ("pliant", "v1") or parts[:1] == ("proto",):
        return "proto"
    if parts[:1] == ("pliant",):  # public headers, named as programs outside the tree name them
        return "clients/cpp"
    room = "/".join(parts[:2])
    return room if room in ROOMS else None


def within(room, places):
    return any(room == place or room.startswith(place + "/") for place in places)


def include_problems(root):
    """Includes of rooms and libraries that the tables do not allow."""
    for top in ("solvers", "physics", "server", "clients"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            file = path.relative_to(root).as_posix()
            room = room_of(file)
            if room is None:
                yield f"{file}: lies in no room that the test knows; add the room to ROOMS with what it may know"
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
                if match:
                    for problem in arrow_problems(root, room, match[1] == '"', match[2]):
                        yield f"{file}:{number}: {problem}"


def arrow_problems(root, room, quoted, target):
    # stubs belong to the contract, but need gRPC
    if target.endswith(".grpc.pb.h") and not within(room, LIBRARIES["gRPC"][2]):
        yield f"{room} may not use gRPC (#include \"{target}\")"
    other = room_of(target)
    if other == room:
        return
    if other is not None:
        if other not in ROOMS[room]:
            yield f"{room} may not know {other} (#include \"{target}\")"
        return
    for name, (pattern, _, places) in LIBRARIES.items():
        if re.match(pattern, target) and not (quoted and (root / target).exists()):
            if not within(room, places):
                yield f"{room} may not use {name} (#include {target}); only {', '.join(places)} may"
            return
    yield f"'{target}' is neither a room's header, named from the root of the tree, nor of a library that the test knows"


def link_problems(root):
    """Link dependencies that the tables do not allow."""
    text = re.sub(r"#.*", "", (root / "CMakeLists.txt").read_text())
    for call, arguments in re.findall(r"\b(pliant_room|pliant_program)\(([^)]*)\)", text):
        words = arguments.split()
        path, links = (words[0], words[1:]) if call == "pliant_room" else (words[1], words[2:])
        if path.startswith(("tests/", "benchmarks")):
            continue
        room = room_of(path)
        if room is None:
            yield f"CMakeLists.txt: {path} is no room that the test knows"
            continue
        for link in links:
            other = room_of(link)
            if other is not None and link != "proto/stubs":
                if other != room and other not in ROOMS[room]:
                    yield f"CMakeLists.txt: {path} may not link {link}"
                continue
            known = [(name, places) for name, (_, pattern, places) in LIBRARIES.items() if re.match(pattern, link)]
            if not known:
                yield f"CMakeLists.txt: {path} links {link}, which the test does not know"
            elif not within(room, known[0][1]):
                yield f"CMakeLists.txt: {path} may not link {known[0][0]} ({link})"


def linked_by(root, room):
    """All rooms and libraries that a room links, directly or through others."""
    text = re.sub(r"#.*", "", (root / "CMakeLists.txt").read_text())
    links = {words[0]: words[1:] for words in
             (arguments.split() for arguments in re.findall(r"\bpliant_room\(([^)]*)\)", text))}
    found, waiting = set(), [room]
    while waiting:
        for link in links.get(waiting.pop(), []):
            if link not in found:
                found.add(link)
                waiting.append(link)
    return found


def viewer_problems(root):
    """Imports of the viewer from outside web_viewer/ and proto/."""
    home = root / "web_viewer"
    for path in sorted((home / "src").rglob("*.ts")):
        if FETCHED_OR_MADE & set(path.relative_to(root).parts):
            continue
        for target in re.findall(r'(?:from|import)\s*\(?\s*["\'](\.[^"\']*)["\']', path.read_text()):
            reached = (path.parent / target).resolve()
            if not reached.is_relative_to(home.resolve()) and not reached.is_relative_to((root / "proto").resolve()):
                yield f"{path.relative_to(root)}: imports {target}, outside web_viewer/ and proto/"


def size_problems(root):
    """Folders with too many files, and files with too many lines."""
    ideas = defaultdict(set)
    for top in HOUSE:
        for path in sorted((root / top).rglob("*")):
            file = path.relative_to(root)
            if path.suffix not in SOURCES or FETCHED_OR_MADE & set(file.parts) or not path.is_file():
                continue
            ideas[file.parent.as_posix()].add(path.stem)
            lines = len(path.read_text().splitlines())
            if lines > MAX_LINES:
                yield f"{file.as_posix()}: {lines} lines, more than {MAX_LINES}: it holds two ideas"
    for folder, stems in sorted(ideas.items()):
        if len(stems) > MAX_IDEAS:
            yield f"{folder}/: {len(stems)} files, more than {MAX_IDEAS} (a header and its source count as one): it is two rooms"


def problems(root):
    root = pathlib.Path(root)
    return [*include_problems(root), *link_problems(root), *viewer_problems(root), *size_problems(root),
            *ratchet.problems(root)]
