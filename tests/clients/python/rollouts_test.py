"""Runs rollouts_ray.py in a process of its own: Ray brings a gRPC of its own, which other tests of
this process must not have used before it."""

import importlib.util
import pathlib
import subprocess
import sys
import unittest


class Rollouts(unittest.TestCase):
    def test_on_a_cluster_of_two_nodes(self):
        if importlib.util.find_spec("ray") is None or importlib.util.find_spec("gymnasium") is None:
            self.skipTest("Ray or Gymnasium is not installed")
        run = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "unittest", "-v", "rollouts_ray"],
            cwd=pathlib.Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=400,
        )
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("Ran 3 tests", run.stderr)


if __name__ == "__main__":
    unittest.main()
