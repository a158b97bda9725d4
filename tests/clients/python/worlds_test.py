"""Worlds through their life: creation, steps, probes, checkpoints, forks."""

import math
import pathlib
import struct
import tempfile
import unittest

from servers import SCENE, ServerProcess, WithServer, wait_until, write_arm

import pliant


# A tetrahedron with its numbers in another file; the number of corners is left open.
GLTF = """{"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
"meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
"accessors": [{"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3",
    "min": [0, 0, 0], "max": [1, 1, 1]},
  {"bufferView": 1, "componentType": 5123, "count": %d, "type": "SCALAR"}],
"bufferViews": [{"buffer": 0, "byteLength": 48}, {"buffer": 0, "byteOffset": 48, "byteLength": 24}],
"buffers": [{"uri": "the%%20toy.bin", "byteLength": 72}]}"""


class Worlds(WithServer):
    def test_a_scene_file_brings_the_robot_that_it_names(self):
        with tempfile.TemporaryDirectory() as folder:
            scene = write_arm(folder)
            world = self.server.create_world(scene, world_id="arm")
            text = self.server.create_world(scene_yaml=scene.read_text(), folder=folder)
        self.assertEqual([joint.name for joint in world.description.joints], ["shoulder", "elbow"])
        self.assertEqual(world.description.model_hash, text.description.model_hash)
        elbow = world.description.joint("arm/elbow")
        self.assertEqual(
            (elbow.index, elbow.lower, elbow.upper, elbow.drive), (1, -2, 2, "position")
        )

    def test_a_surface_brings_its_buffer_and_warnings_are_kept(self):
        corners = [(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)]
        triangles = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
        for count in (4, 3):
            with tempfile.TemporaryDirectory() as name, self.subTest(triangles=count):
                folder = pathlib.Path(name)
                (folder / "the toy.bin").write_bytes(
                    b"".join(struct.pack("<3f", *corner) for corner in corners)
                    + b"".join(struct.pack("<3H", *triangle) for triangle in triangles)
                )
                (folder / "toy.gltf").write_text(GLTF % (3 * count))
                (folder / "toy.yaml").write_text(
                    "bodies: [{name: toy, deformable: {mesh: {file: toy.gltf, edge_length: 0.03}, "
                    "material: {youngs_modulus: 1e5, poissons_ratio: 0.4, density: 1000}}}]"
                )
                world = self.server.create_world(folder / "toy.yaml")
            self.assertEqual(world.info.size.deformables, 1)
            open_edges = [one for one in world.warnings if "edges with one triangle" in one]
            self.assertEqual(len(open_edges), 4 - count)
            for warning in open_edges:
                self.assertRegex(warning, r"toy\.yaml:1:\d+: bodies\[0\].*has 3 edges")

    def test_errors_of_a_scene_keep_the_lines_of_the_server(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "bad.yaml"
            file.write_text(SCENE.replace("density: 1000\n", "density: -1\n"))
            with self.assertRaises(pliant.SceneError) as refused:
                self.server.create_world(file)
        self.assertRegex(
            str(refused.exception),
            r"bad\.yaml:11:\d+: bodies\[2\]\.rigid\.density: -1 is not allowed",
        )
        self.assertEqual(refused.exception.place, "bodies[2].rigid.density")
        self.assertEqual(
            [one.field for one in refused.exception.violations], ["bodies[2].rigid.density"]
        )

    def test_worlds_are_listed_by_their_labels(self):
        self.server.create_world(scene_yaml=SCENE, world_id="a", labels={"lab": "x"})
        self.server.create_world(scene_yaml=SCENE, world_id="b", labels={"lab": "y"})
        self.assertEqual(
            [world.name for world in self.server.list_worlds()], ["worlds/a", "worlds/b"]
        )
        self.assertEqual(
            [world.name for world in self.server.list_worlds({"lab": "y"})], ["worlds/b"]
        )
        with self.assertRaises(pliant.AlreadyExists):
            self.server.create_world(scene_yaml=SCENE, world_id="a")

    def test_scenes_that_come_with_the_server_are_made_by_name(self):
        self.assertEqual(
            self.server.create_world(shipped="soft_ball").description.scene, "soft_ball"
        )
        with self.assertRaisesRegex(pliant.UnknownName, 'did you mean "soft_ball"'):
            self.server.create_world(shipped="soft_bal")

    def test_steps_repeat_bit_for_bit(self):
        world = self.server.create_world(scene_yaml=SCENE)
        lift = {"paddle": pliant.twist((0, 0, 0.2))}
        first = world.step(20, commands=lift, probes=["height", "strain"])
        self.assertEqual(
            (first.step, first.probes["height"].shape, first.probes["strain"].shape),
            (20, (3,), (1,)),
        )
        world.reset()
        self.assertEqual(world.step(20, commands=lift).state_hash, first.state_hash)
        world.reset()
        self.assertNotEqual(world.step(20).state_hash, first.state_hash)

    def test_the_clock_runs_and_pauses(self):
        world = self.server.create_world(scene_yaml=SCENE)
        world.run(None)
        while world.info.step < 20:
            pass
        world.pause()
        self.assertEqual(world.info.clock.WhichOneof("mode"), "paused")
        world.run(0.5)
        self.assertEqual(world.info.clock.real_time.factor, 0.5)
        with self.assertRaisesRegex(pliant.InvalidRequest, "speed: 0 is not allowed"):
            world.run(0)

    def test_probes_of_the_scene_and_of_any_body(self):
        world = self.server.create_world(scene_yaml=SCENE)
        world.step(10)
        self.assertEqual(list(world.probes()), ["height", "speed", "strain"])
        height = world.probe("height")
        self.assertEqual(height.tolist(), world.probe("cube", position=True).tolist())
        self.assertLess(height[2], 0.2)
        self.assertLess(world.probe("cube", velocity=True)[2], 0)
        self.assertEqual(world.probe("cube", orientation=True).shape, (4,))
        self.assertEqual(
            world.probe("ball", field="VON_MISES_STRAIN").tolist(), world.probe("strain").tolist()
        )

    def test_probes_of_robots(self):
        with tempfile.TemporaryDirectory() as folder:
            world = self.server.create_world(write_arm(folder))
        for _ in range(200):
            world.step(1, commands={"arm": pliant.joint_targets({"shoulder": 0.5})})
        at = world.probe("arm/shoulder", quantity="POSITION")
        tilt = world.probe("arm/elbow", quantity="POSITION")[0] + at[0]  # of the lower link
        # at rest, the drive of 100 N·m/rad bears the weight of the links of 1 kg
        torque = 9.81 * (0.1 * math.sin(at[0]) + 0.2 * math.sin(at[0]) + 0.1 * math.sin(tilt))
        self.assertAlmostEqual(100 * (at[0] - 0.5), torque, delta=1e-6 * torque)
        self.assertEqual(at.tolist(), world.probe("shoulder").tolist())
        self.assertEqual(
            world.probe("arm/lower", position=True).tolist(), world.probe("tip").tolist()
        )

    def test_unknown_names_come_with_the_nearest(self):
        with tempfile.TemporaryDirectory() as folder:
            arm = self.server.create_world(write_arm(folder), world_id="arm")
        world = self.server.create_world(scene_yaml=SCENE, world_id="w")
        for nearest, call in {
            "cube": lambda: world.probe("cubes", position=True),
            "height": lambda: world.probe("heigth"),
            "strain": lambda: world.step(probes=["stain"]),
            "arm": lambda: self.server.world("armm"),
            "paddle": lambda: world.step(commands={"padle": pliant.twist()}),
            "elbow": lambda: arm.step(commands={"arm": pliant.joint_targets({"elbo": 0.1})}),
            "arm/elbow": lambda: arm.probe("arm/elbw", quantity="POSITION"),
            "VON_MISES_STRAIN": lambda: world.probe("ball", field="VON_MISES_STRAINS"),
            "VELOCITY": lambda: world.subscribe(fields=["VELOCTY"]),
        }.items():
            with self.subTest(nearest), self.assertRaises(pliant.UnknownName) as refused:
                call()
            self.assertIn(
                f'did you mean "{nearest.split("/")[-1]}"',
                str(refused.exception).replace('"arm/', '"'),
            )
        self.assertEqual(world.info.step, 0)  # nothing was sent

    def test_numbers_that_are_not_finite_are_refused_by_index(self):
        world = self.server.create_world(scene_yaml=SCENE)
        with self.assertRaisesRegex(pliant.ActionError, r"linear\[2\]: nan is not allowed"):
            world.step(commands={"paddle": pliant.twist((0, 0, float("nan")))})
        with self.assertRaisesRegex(
            pliant.ActionError, r"force: the shape \(2,\) is not allowed; expected \(3,\)"
        ):
            pliant.wrench((0, 1))

    def test_checkpoints_restore_the_state(self):
        world = self.server.create_world(scene_yaml=SCENE, durable=True)
        world.step(10)
        named, state = world.checkpoint("here"), world.checkpoint()
        self.assertEqual(named.state_hash, state.state_hash)
        self.assertEqual(len(state.state), state.size)
        world.step(10)
        world.restore("here")
        self.assertEqual(world.state_hash, named.state_hash)
        world.reset()
        world.restore(state)
        self.assertEqual(world.state_hash, named.state_hash)
        self.assertIn(named.name, [one.name for one in world.checkpoints()])
        self.assertEqual(world.fetch_checkpoint("here"), state.state)
        world.delete_checkpoint("here")
        with self.assertRaises(pliant.PliantError):
            world.restore("here")

    def test_a_checkpoint_of_another_model_is_refused(self):
        world = self.server.create_world(scene_yaml=SCENE)
        other = self.server.create_world(
            scene_yaml=SCENE.replace("radius: 0.05}, edge", "radius: 0.06}, edge")
        )
        with self.assertRaisesRegex(pliant.PliantError, "model"):
            other.restore(world.checkpoint())

    def test_a_fork_takes_the_same_steps(self):
        world = self.server.create_world(scene_yaml=SCENE)
        world.step(10)
        fork = world.fork("fork")
        self.assertEqual(fork.step(10).state_hash, world.step(10).state_hash)

    def test_a_deleted_world_is_said_to_be_gone(self):
        world = self.server.create_world(scene_yaml=SCENE, world_id="gone")
        world.delete()
        with self.assertRaises(pliant.NotFound):
            world.step()

    def test_a_stop_is_latched(self):
        world = self.server.create_world(scene_yaml=SCENE)
        world.stop()
        self.assertTrue(wait_until(lambda: world.info.stopped, 5))
        world.resume()
        self.assertTrue(wait_until(lambda: not world.info.stopped, 5))

    def test_a_notebook_shows_how_to_open_the_page(self):
        view = pliant.show(self.server, http=self.server_process.http)
        self.assertEqual(view.url, self.server_process.http + "/")
        self.assertIn("--allow-origin", view.problem)
        self.assertIn(f'href="{view.url}"', view._repr_html_())
        self.assertIn("No page answers", pliant.show(self.server, http="127.0.0.1:1").problem)


class Notebooks(unittest.TestCase):
    def test_pages_of_allowed_origins_may_show_the_viewer(self):
        process = ServerProcess("--allow-origin", "http://localhost:8888")
        self.addCleanup(process.stop)
        with pliant.connect(process.address) as server:
            shown = pliant.show(server, http=process.http, origin="http://localhost:8888")
            self.assertEqual(shown.problem, "")
            self.assertIn(f'<iframe src="{process.http}/"', shown._repr_html_())
            other = pliant.show(server, http=process.http, origin="http://localhost:9999")
            self.assertIn("--allow-origin http://localhost:9999", other.problem)


if __name__ == "__main__":
    unittest.main()
