"""Compares robot files of other projects, which are not part of this repository. They are in a folder with
drake_models, given by PLIANT_ASSETS or next to the sources; the tests are skipped if it is absent."""

import os
import pathlib
import re
import unittest

from comparison import ROOT, TOLERANCE, Pliant, report, worst_differences
from drake_engine import DrakeEngine
from mujoco_engine import MujocoEngine

MODELS = pathlib.Path(os.environ.get("PLIANT_ASSETS", ROOT.parent / "shared/assets")) / "drake_models"
FILES = sorted(path for robot in ("iiwa_description", "allegro_hand_description", "wsg_50_description")
               for path in (MODELS / robot).rglob("*") if path.suffix in (".urdf", ".sdf"))


class RealRobots(unittest.TestCase):
    def check(self, engine, path):
        try:
            worst = worst_differences(engine(path), Pliant(path), seed=3)
        except RuntimeError as error:
            missing = re.search(r'"package://[^"]*": no such file', str(error))
            if missing:
                self.skipTest(f"{path.name} names a mesh that is not there: {missing.group()}")
            raise
        report(f"{path.name}, {engine.__name__}", worst)
        for name, value in worst.items():
            self.assertLessEqual(value, TOLERANCE, name)

    @unittest.skipUnless(MODELS.is_dir(), f"no robots to compare with: {MODELS} is not there; set PLIANT_ASSETS")
    def test_there_are_some(self):
        self.assertGreaterEqual(len(FILES), 10)


def add_tests():
    for path in FILES:
        for engine in [DrakeEngine] + [MujocoEngine] * (path.suffix == ".urdf"):
            name = f"test_{path.stem}_{path.suffix[1:]}_as_{engine.__name__.removesuffix('Engine').lower()}_reads_it"
            setattr(RealRobots, name, lambda self, engine=engine, path=path: self.check(engine, path))


add_tests()

if __name__ == "__main__":
    unittest.main()
