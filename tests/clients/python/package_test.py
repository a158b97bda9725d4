"""The package as a whole: doctests, type hints, and the code of docs/python.md."""

import doctest
import importlib
import importlib.util
import pathlib
import pkgutil
import re
import subprocess
import sys
import tempfile
import unittest

from servers import ROOT, ServerProcess

import pliant

SOURCES = ROOT / "clients/python"
PAGE = ROOT / "docs/python.md"
ADDRESS = "127.0.0.1:50051"


def modules():
    for found in pkgutil.walk_packages(pliant.__path__, "pliant."):
        if found.name.startswith("pliant.v1"):
            continue
        if found.name.startswith("pliant.envs") and importlib.util.find_spec("gymnasium") is None:
            continue
        yield importlib.import_module(found.name)


class Package(unittest.TestCase):
    def test_doctests(self):
        tried = 0
        for module in modules():
            result = doctest.testmod(
                module, verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            )
            self.assertEqual(result.failed, 0, module.__name__)
            tried += result.attempted
        self.assertGreater(tried, 30)

    def test_type_hints(self):
        if importlib.util.find_spec("mypy") is None:
            self.skipTest("mypy is not installed")
        run = subprocess.run(
            [
                sys.executable,
                "-m",
                "mypy",
                "--config-file",
                SOURCES / "pyproject.toml",
                "--cache-dir",
                tempfile.gettempdir() + "/pliant_mypy",
                "-p",
                "pliant",
            ],
            cwd=SOURCES.parent,
            capture_output=True,
            text=True,
            timeout=600,
        )
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_the_installed_package_is_that_of_the_tree(self):
        for path in (SOURCES / "pliant").rglob("*.py"):
            installed = pathlib.Path(pliant.__file__).parent / path.relative_to(SOURCES / "pliant")
            self.assertEqual(installed.read_text(), path.read_text(), path)
        self.assertEqual(
            pliant.__version__,
            re.search(r"project\(pliant VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[
                1
            ],
        )


@unittest.skipIf(
    importlib.util.find_spec("gymnasium") is None,
    "the quick start ends with Gymnasium, which is not installed",
)
class QuickStart(unittest.TestCase):
    def test_every_block_works(self):
        blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
        self.assertGreater(len(blocks), 5)
        code = "\n".join(blocks)
        self.assertIn(ADDRESS, code)
        process = ServerProcess()
        self.addCleanup(process.stop)
        code = code.replace(ADDRESS, process.address).replace("http://127.0.0.1:8080", process.http)
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "start.py").write_text(code)
            run = subprocess.run(
                [sys.executable, "-W", "error::RuntimeWarning", "start.py"],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=280,
            )
        self.assertEqual(
            run.returncode,
            0,
            f"{run.stdout}\n{run.stderr}\n"
            + "\n".join(f"{number:4} {line}" for number, line in enumerate(code.splitlines(), 1)),
        )


if __name__ == "__main__":
    unittest.main()
