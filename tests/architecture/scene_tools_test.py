"""Checks that the tools in scenes/tools write the scenes and meshes that are in the tree."""

import filecmp
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCENES = pathlib.Path(__file__).resolve().parents[2] / "scenes"
# tools that take 5 s and more
SLOW = {"make_rubber_ladybird.py", "make_soft_bubble.py", "make_table_pile.py"}


def differences(ours, theirs):
    """Paths of files that are not the same, or that only one of two folders has."""
    for folder in (ours, theirs):
        for path in sorted(folder.rglob("*")):
            file = path.relative_to(folder)
            if path.is_dir() or "__pycache__" in file.parts:
                continue
            if not (ours / file).is_file() or not (theirs / file).is_file() or \
                    not filecmp.cmp(ours / file, theirs / file, shallow=False):
                yield file.as_posix()


class SceneTools(unittest.TestCase):
    def test_each_writes_what_is_in_the_tree(self):
        tools = [tool for tool in sorted((SCENES / "tools").glob("make_*.py")) if tool.name not in SLOW]
        self.assertGreater(len(tools), 5)
        for tool in tools:
            with self.subTest(tool=tool.name), tempfile.TemporaryDirectory() as temporary:
                copy = pathlib.Path(temporary) / "scenes"
                shutil.copytree(SCENES, copy)
                subprocess.run([sys.executable, copy / "tools" / tool.name], check=True, capture_output=True)
                self.assertEqual(sorted(set(differences(SCENES, copy))), [])


if __name__ == "__main__":
    unittest.main()
