"""Installs the C++ client into an empty folder, builds its examples against it as a project outside the tree does, and
runs each of them against a real pliantd. It also runs the quick starts of docs/cpp.md and docs/command_line.md.

package_test.py BUILD_FOLDER
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

if len(sys.argv) != 2:
    sys.exit("usage: package_test.py BUILD_FOLDER, e.g. build/release")
BUILD = pathlib.Path(sys.argv.pop()).resolve()
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"

SCENE = """name: outside
time_step: 0.005
bodies:
  - name: table
    rigid: {motion: FIXED, pose: {position: [0, 0, -0.05]}, shapes: [{box: {size: [4, 4, 0.1]}}]}
  - name: cube
    rigid: {motion: FREE, density: 500, pose: {position: [0, 1, 0.05]}, shapes: [{box: {size: [0.1, 0.1, 0.1]}, friction: 0}]}
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.04}
      pose: {position: [0.3, 0, 0.06]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
robots:
  - {name: arm, file: arm.urdf, base: FIXED, pose: {position: [0, -1, 1]}, actuators: [{joint: turn, torque: {}, effort_limit: 50}]}
"""
ARM = """<robot name="arm"><link name="base"/><link name="rod"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="50" velocity="20"/></joint></robot>
"""


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=900, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def block(page, language):
    return re.search(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.S)[1]


class ProjectOutsideTheTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        run("cmake", "--install", BUILD, "--prefix", cls.folder / "prefix", "--component", "client")
        # the sources that were installed, out of reach of the tree
        shutil.copytree(cls.folder / "prefix/share/pliant/examples/cpp", cls.folder / "project")
        cls.build("project", "build")
        cls.server = subprocess.Popen([BUILD / "bin/pliantd", "serve", "--grpc-port", "0", "--http-port", "0",
                                       "--data-dir", cls.folder / "data"], stdout=subprocess.PIPE, text=True)
        cls.address = json.loads(cls.server.stdout.readline())["grpc"]
        (cls.folder / "scene.yaml").write_text(SCENE)
        (cls.folder / "arm.urdf").write_text(ARM)
        cls.pliant("world", "create", cls.folder / "scene.yaml", "--id", "w")

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        cls.server.wait(30)
        cls.server.stdout.close()
        shutil.rmtree(cls.folder)

    @classmethod
    def build(cls, project, build):
        run("cmake", "-S", cls.folder / project, "-B", cls.folder / build, "-DCMAKE_BUILD_TYPE=Release",
            f"-DCMAKE_PREFIX_PATH={cls.folder / 'prefix'}")
        run("cmake", "--build", cls.folder / build)

    @classmethod
    def pliant(cls, *words):
        return run(BUILD / "bin/pliant", "--server", cls.address, *words,
                   env={**os.environ, "PLIANT_CLIENT_CONFIG": "/nonexistent"})

    def example(self, name, *words):
        return run(self.folder / "build" / name, self.address, "w", *words)

    def test_a_world_is_watched(self):
        self.pliant("world", "run", "w")
        lines = self.example("watch", "1").splitlines()
        self.assertGreater(len(lines), 5)
        self.assertIn("ball at z 0.0", lines[-1])

    def test_strain_is_read_at_a_vertex(self):
        self.pliant("world", "run", "w")
        description = json.loads(self.pliant("--json", "world", "describe", "w"))
        vertex = description["deformables"][0]["surface_to_volume"][0]
        self.assertIn("Green strain xx", self.example("strain", "ball", vertex))

    def test_a_joint_is_moved_from_this_side(self):
        self.pliant("world", "run", "w")
        text = self.example("pd_controller", "arm", "turn", "0.7", "4")
        self.assertAlmostEqual(float(text.split(" is at ")[1].split(",")[0]), 0.7, delta=0.05)

    def test_rollouts_differ_by_their_forces(self):
        self.pliant("world", "pause", "w")
        self.pliant("world", "reset", "w")
        lines = self.example("rollouts", "cube", "3", "20").splitlines()
        places = [float(line.split(" x ")[1].split()[0]) for line in lines]
        # without friction the displacement is proportional to the force
        self.assertAlmostEqual(places[1] / places[0], 2, delta=0.1)
        self.assertAlmostEqual(places[2] / places[0], 3, delta=0.15)

    def test_the_quick_start_of_the_library_runs(self):
        project = self.folder / "quick_start"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(block("cpp.md", "cmake"))
        (project / "quick_start.cc").write_text(block("cpp.md", "cpp"))
        self.build("quick_start", "quick_start_build")
        text = run(self.folder / "quick_start_build/quick_start", self.address)
        self.assertEqual(len(text.splitlines()), 11)

    def test_the_quick_start_of_the_command_line_runs(self):
        for line in block("command_line.md", "sh").splitlines():
            words = shlex.split(line)
            self.assertEqual(words[0], "pliant")
            run(BUILD / "bin" / words[0], *words[1:], cwd=self.folder,
                env={**os.environ, "PLIANT_CLIENT_CONFIG": "/nonexistent", "PLIANT_SERVER": self.address})


if __name__ == "__main__":
    unittest.main()
