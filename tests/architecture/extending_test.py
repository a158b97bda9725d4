"""Follows docs/extending.md to the letter: adds the material that it shows, one file and one line, and runs on it the checks
that every registered material undergoes.

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


class Material(unittest.TestCase):
    def test_the_recipe_gives_a_material_that_passes_every_check(self):
        page = (ROOT / "docs/extending.md").read_text()
        path = re.search(r"in `(physics/fem/materials/\w+\.cc)`:", page)[1]
        code = re.search(r"```cpp\n(.*?)```", page, re.S)[1]
        line = re.search(r"`(ADD\(\w+\))`", page)[1]
        name = re.search(r"custom_model: (\w+)", page)[1]
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder)
            shutil.copytree(ROOT / "physics/fem/materials", copy / "physics/fem/materials")
            self.assertFalse((copy / path).exists())
            (copy / path).write_text(code)
            registry = copy / "physics/fem/materials/material.cc"
            text = registry.read_text()
            last = re.search(r"  ADD\(\w+\)\n\n", text)[0]
            registry.write_text(text.replace(last, f"{last.rstrip()} \\\n  {line}\n\n"))

            sources = sorted(str(file) for file in (copy / "physics/fem/materials").glob("*.cc"))
            sources.append(str(ROOT / "tests/physics/fem/materials/material_test.cc"))
            program = str(copy / "checks")
            subprocess.run([COMPILER, "-std=c++20", "-O1", "-march=x86-64-v3", "-ffp-contract=off", "-Wall", "-Wextra",
                            "-DEIGEN_DONT_VECTORIZE", f"-I{copy}", f"-I{ROOT}", "-isystem", EIGEN, *sources, "-o", program,
                            "-lgtest", "-lgtest_main", "-pthread"], check=True)
            run = subprocess.run([program, f"--gtest_filter=*/{name}"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertGreaterEqual(int(re.search(r"PASSED  \] (\d+) test", run.stdout)[1]), 8)


if __name__ == "__main__":
    unittest.main()
