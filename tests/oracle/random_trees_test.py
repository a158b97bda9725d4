"""Compares the dynamics of random trees of up to 40 joints with other engines."""

import pathlib
import tempfile
import unittest

import random_robots
from comparison import TOLERANCE, Pliant, report, worst_differences
from drake_engine import DrakeEngine
from mujoco_engine import MujocoEngine

COUNTS = (1, 3, 8, 20, 40)


class RandomTrees(unittest.TestCase):
    def check(self, text, suffix, engine, base="FIXED"):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / f"random{suffix}"
            path.write_text(text)
            worst = worst_differences(engine(path), Pliant(path, base), seed=2)
        report(f"{self._testMethodName}, {engine.__name__}", worst)
        for name, value in worst.items():
            self.assertLessEqual(value, TOLERANCE, name)

    def test_urdf_as_mujoco_reads_it(self):
        for count in COUNTS:
            with self.subTest(joints=count):
                self.check(random_robots.make_urdf(count, count), ".urdf", MujocoEngine)

    def test_urdf_as_drake_reads_it(self):
        for count in COUNTS:
            with self.subTest(joints=count):
                self.check(random_robots.make_urdf(100 + count, count, random_robots.DRAKE_TYPES), ".urdf", DrakeEngine)

    def test_mjcf_as_mujoco_reads_it(self):
        for count in COUNTS:
            with self.subTest(joints=count):
                self.check(random_robots.make_mjcf(200 + count, count), ".xml", MujocoEngine)

    def test_free_mjcf_as_mujoco_reads_it(self):
        for count in COUNTS:
            with self.subTest(joints=count):
                self.check(random_robots.make_mjcf(300 + count, count, free=True), ".xml", MujocoEngine, "FREE")

    def test_sdf_as_drake_reads_it(self):
        for count in COUNTS:
            with self.subTest(joints=count):
                self.check(random_robots.make_sdf(400 + count, count), ".sdf", DrakeEngine)

    def test_free_sdf_as_drake_reads_it(self):
        for count in COUNTS:
            with self.subTest(joints=count):
                free = lambda path: DrakeEngine(path, free=True)
                free.__name__ = "DrakeEngine"
                self.check(random_robots.make_sdf(500 + count, count, free=True), ".sdf", free, "FREE")


if __name__ == "__main__":
    unittest.main()
