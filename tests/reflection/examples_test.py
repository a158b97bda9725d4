"""Runs the shell examples of docs/api.md, with a stand-in for grpcurl that knows the server by reflection.

PLIANTD names the server's program.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SERVE = "pliantd serve --data-dir data &\n"
ADDRESS = "127.0.0.1:50051"
MESH = """# vtk DataFile Version 3.0
one tetrahedron
ASCII
DATASET UNSTRUCTURED_GRID
POINTS 4 double
0 0 0
0.1 0 0
0 0.1 0
0 0 0.1
CELLS 1 5
4 0 1 2 3
CELL_TYPES 1
10
"""


def examples():
    """The indented lines of the section."""
    text = (ROOT / "docs/api.md").read_text()
    section = text[text.index("## From a shell"):text.index("## Calls")]
    lines = [line for line in section.splitlines(True) if line.startswith("    ") or line == "\n"]
    return textwrap.dedent("".join(lines)).strip("\n") + "\n"


class Examples(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "ball.vtk").write_text(MESH)
        grpcurl = self.folder / "grpcurl"
        grpcurl.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{HERE / 'grpcurl.py'}' \"$@\"\n")
        grpcurl.chmod(0o755)

    def serve(self):
        """Starts the server as the first line does, on free ports."""
        command = [os.environ["PLIANTD"], *SERVE.removesuffix(" &\n").split()[1:], "--grpc-port", "0", "--http-port", "0"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=self.folder)

        def stop():
            server.terminate()
            server.wait(60)
            server.stdout.close()

        self.addCleanup(stop)
        return json.loads(server.stdout.readline())["grpc"]

    def test_every_line_works(self):
        script = examples()
        self.assertTrue(script.startswith(SERVE), script)
        self.assertIn(ADDRESS, script)
        script = script.removeprefix(SERVE).replace(ADDRESS, self.serve())
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
        run = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.folder, env=environment,
                             capture_output=True, text=True, timeout=240)
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = run.stdout.splitlines()
        self.assertIn("pliant.v1.WorldService", lines)
        replies = [json.loads(line) for line in lines if line.startswith("{")]
        called = [next(iter(reply)) for reply in replies]
        self.assertEqual(called, [
            "WorldService/CreateWorld", "WorldService/StepWorld", *3 * ["StreamService/Subscribe"],
            "WorldService/CheckpointWorld", "WorldService/ForkWorld", "ObjectService/UploadObject",
            "WorldService/CreateWorld", *3 * ["WorldService/DeleteWorld"]])
        results = [reply[name] for reply, name in zip(replies, called)]
        self.assertEqual(results[1]["step"], "100")
        self.assertGreater(len(results[1]["frame"]["rigid"]), 0)
        self.assertEqual(results[2]["frame"]["step"], "100")
        self.assertEqual(results[5]["checkpoint"]["step"], "100")
        self.assertEqual(results[6]["state_hash"], results[1]["state_hash"])
        self.assertTrue(results[7]["complete"])
        self.assertEqual(results[8]["size"]["tetrahedra"], 1)


if __name__ == "__main__":
    unittest.main()
