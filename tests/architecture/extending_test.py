"""Follows docs/extending.md exactly: adds the material, the contact model and the joint that it shows, one file and one
line each, and runs the tests of all registered items on them.

extending_test.py COMPILER EIGEN
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
if len(sys.argv) != 3:
    sys.exit("usage: extending_test.py COMPILER EIGEN, e.g. c++ /usr/include/eigen3")
EIGEN = sys.argv.pop()
COMPILER = sys.argv.pop()


class Recipes(unittest.TestCase):
    def follow(self, title, sources, tests):
        """Applies a chapter to a copy of its folder; returns the program of `tests` built with the copy's `sources`."""
        page = (ROOT / "docs/extending.md").read_text()
        chapter = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", page, re.S | re.M)[1]
        path = re.search(r"in\s`((?:physics|solvers)/[\w/]+\.cc)`:", chapter)[1]
        line = re.search(r"`(ADD\(\w+\))`", chapter)[1]
        registry = re.search(r"The line, in \[(\w+\.cc)\]", chapter)[1]
        copy = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, copy)
        folder = pathlib.Path(path).parent
        shutil.copytree(ROOT / folder, copy / folder)
        self.assertFalse((copy / path).exists())
        (copy / path).write_text(re.search(r"```cpp\n(.*?)```", chapter, re.S)[1])
        text = (copy / folder / registry).read_text()
        last = re.search(r"  ADD\(\w+\)\n\n", text)[0]
        (copy / folder / registry).write_text(text.replace(last, f"{last.rstrip()} \\\n  {line}\n\n"))

        files = sorted(str(file) for pattern in sources for file in (copy / folder).glob(pattern))
        program = str(copy / "checks")
        subprocess.run([COMPILER, "-std=c++20", "-O1", "-march=x86-64-v3", "-ffp-contract=off", "-Wall", "-Wextra",
                        "-DEIGEN_DONT_VECTORIZE", f"-I{copy}", f"-I{ROOT}", "-isystem", EIGEN, *files,
                        *(str(ROOT / test) for test in tests), "-o", program, "-lgtest", "-lgtest_main", "-pthread"], check=True)
        return program

    def check(self, program, filter, least):
        run = subprocess.run([program, f"--gtest_filter={filter}"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertGreaterEqual(int(re.search(r"PASSED  \] (\d+) test", run.stdout)[1]), least)

    def test_a_material(self):
        program = self.follow("A material", ["*.cc"], ["tests/physics/fem/materials/material_test.cc"])
        self.check(program, "*/DILATANT", 8)

    def test_a_contact_model(self):
        program = self.follow("A contact model", ["*_law.cc"], ["tests/solvers/convex/contact_law_test.cc"])
        self.check(program, "*/OILED", 6)

    def test_a_joint(self):
        spatial = sorted(str(file.relative_to(ROOT)) for file in (ROOT / "physics/spatial").glob("*.cc"))
        program = self.follow("A joint", ["*_joint.cc", "joint_tree.cc", "tree_*.cc"],
                              ["tests/physics/rigid/joint_tree_test.cc", "tests/counted_allocations.cc", *spatial])
        self.check(program, "*Joint*", 20)
        self.check(program, "Registered/EveryCompoundJoint.*/cylindrical", 1)


if __name__ == "__main__":
    unittest.main()
