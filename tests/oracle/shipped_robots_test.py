"""Compares the dynamics of the robots in scenes/robots with other engines."""

import unittest

from comparison import ROOT, TOLERANCE, Pliant, report, worst_differences
from drake_engine import DrakeEngine
from mujoco_engine import MujocoEngine

FILES = sorted(path for path in (ROOT / "scenes/robots").iterdir() if path.suffix in (".urdf", ".sdf", ".xml"))


class ShippedRobots(unittest.TestCase):
    def check(self, engine, path):
        worst = worst_differences(engine(path), Pliant(path), seed=1)
        report(f"{path.name}, {engine.__name__}", worst)
        for name, value in worst.items():
            self.assertLessEqual(value, TOLERANCE, name)

    def test_there_are_some(self):
        self.assertGreaterEqual(len(FILES), 10)


def add_tests():
    for path in FILES:
        engines = {".urdf": [MujocoEngine, DrakeEngine], ".sdf": [DrakeEngine], ".xml": [MujocoEngine]}[path.suffix]
        for engine in engines:
            name = f"test_{path.stem}_as_{engine.__name__.removesuffix('Engine').lower()}_reads_it"
            setattr(ShippedRobots, name, lambda self, engine=engine, path=path: self.check(engine, path))


add_tests()

if __name__ == "__main__":
    unittest.main()
