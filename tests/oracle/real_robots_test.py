"""Compares the robot files of other projects, which are not part of this repository, with every engine that reads them.
They are in a folder that PLIANT_ASSETS names, or next to the sources; the tests are skipped if it is absent.

Each engine must agree, unless Pliant warns that it has mended the file's masses, or another engine agrees in
everything.
"""

import os
import pathlib
import re
import subprocess
import unittest
from xml.etree import ElementTree

from comparison import PLIANTD, ROOT, TOLERANCE, Pliant, report, worst_differences
from drake_engine import DrakeEngine
from mujoco_engine import MujocoEngine

ASSETS = pathlib.Path(os.environ.get("PLIANT_ASSETS", ROOT.parent / "shared/assets"))
ENGINES = {".urdf": [DrakeEngine, MujocoEngine], ".sdf": [DrakeEngine], ".xml": [MujocoEngine]}


def is_robot(path):
    return re.search(r"<(robot|sdf|mujoco)\b", path.read_text(errors="replace")) is not None


# An engine that refuses a file raises one of these; Drake raises SystemExit where one of its conditions fails.
REFUSALS = (RuntimeError, ValueError, ElementTree.ParseError, SystemExit)

FILES = sorted(path for path in ASSETS.rglob("*") if path.suffix in ENGINES and path.is_file() and is_robot(path))


# Pliant warns in these words where masses, or shapes that give masses, differ from those of the file.
MENDED = re.compile(r": warning: .*(inertia is not physical|has inertia but no mass|It is taken to be a ball|"
                    r"The inertia of its shapes is used|fitting a primitive to the mesh|armature of a tendon)")


def find_mended_inertia(path):
    """The first warning about a mass, an inertia or a shape that was changed, or an empty string."""
    said = subprocess.run([PLIANTD, "check", path], capture_output=True, text=True, check=False).stderr
    return next((line for line in said.splitlines() if MENDED.search(line)), "")


def crashes(engine, path):
    """Whether reading a file ends an engine's process by a signal; tried in a process of its own."""
    child = os.fork()
    if child == 0:
        try:
            engine(path)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def compare(theirs, path):
    """Worst differences to an engine's robot; to one of MuJoCo with corrected inertias if it differs too much."""
    worst = worst_differences(theirs, Pliant(path), seed=3)
    report(f"{path.name}, {type(theirs).__name__}", worst)
    if isinstance(theirs, MujocoEngine) and max(worst.values()) > TOLERANCE:
        worst = worst_differences(MujocoEngine(path, exact_axes=True), Pliant(path), seed=3)
        report("  with exact axes of inertia", worst)
    return worst


def agrees_with_another(engine, path):
    """Whether an engine other than this one reads a file, and agrees in everything."""
    for other in ENGINES[path.suffix]:
        if other is engine or crashes(other, path):
            continue
        try:
            worst = compare(other(path), path)
        except REFUSALS:
            continue
        if max(worst.values()) <= TOLERANCE:
            return True
    return False


class RealRobots(unittest.TestCase):
    def check(self, engine, path):
        if crashes(engine, path):
            self.skipTest(f"{engine.__name__} crashes on {path.name}")
        try:
            theirs = engine(path)
        except REFUSALS as error:
            self.skipTest(f"{path.name} is not read by {engine.__name__}: {(str(error).splitlines() or [error])[0]}")
        try:
            worst = compare(theirs, path)
        except RuntimeError as error:
            if "An internal mass matrix" in str(error):  # Drake's words
                self.skipTest(f"{path.name} cannot be simulated by {engine.__name__}: {error}")
            missing = re.search(r'"[^"]*": no (such file|package)', str(error))
            if missing:
                self.skipTest(f"{path.name} names a mesh that is not there: {missing.group()}")
            no_model = re.search(r"has no (bodies|links)|is a xacro file", str(error))
            if no_model:
                self.skipTest(f"{path.name} is no model by itself: {no_model.group()}")
            raise
        if max(worst.values()) > TOLERANCE:
            mended = find_mended_inertia(path)
            if mended:
                print(f"  only kinematics are compared: {mended}", flush=True)
                worst = {name: worst[name] for name in ("pose", "Jacobian")}
            elif agrees_with_another(engine, path):
                print("  another engine agrees", flush=True)
                return
        for name, value in worst.items():
            self.assertLessEqual(value, TOLERANCE, name)

    @unittest.skipUnless(ASSETS.is_dir(), f"no robots to compare with: {ASSETS} is not there; set PLIANT_ASSETS")
    def test_there_are_some(self):
        self.assertGreaterEqual(len(FILES), 10)


def add_tests():
    for path in FILES:
        for engine in ENGINES[path.suffix]:
            file = re.sub(r"\W", "_", str(path.relative_to(ASSETS)))
            name = f"test_{file}_as_{engine.__name__.removesuffix('Engine').lower()}_reads_it"
            setattr(RealRobots, name, lambda self, engine=engine, path=path: self.check(engine, path))


add_tests()

if __name__ == "__main__":
    unittest.main()
