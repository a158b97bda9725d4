"""A client that knows the server by reflection alone takes a world through its life.

PLIANTD names the server's program.
"""

import json
import os
import subprocess
import tempfile
import threading
import unittest

import grpc
from reflected import TIMEOUT, Reflected

SCENE = """
name: reflected
bodies:
  - {name: table, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: paddle, rigid: {motion: KINEMATIC, pose: {position: [0, 0, 0.5]}, shapes: [{sphere: {radius: 0.05}}]}}
  - {name: cube, rigid: {motion: FREE, density: 1000, pose: {position: [1, 0, 0.2]},
      shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
probes:
  - {name: height, position: {body: cube}}
"""


def hold_open(requests, done):
    """The requests of a stream that stays open until `done`."""
    yield from requests
    done.wait(TIMEOUT)


class ReflectionClient(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        command = [os.environ["PLIANTD"], "serve", "--grpc-port", "0", "--http-port", "0", "--data-dir", folder.name]
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.stop)
        address = json.loads(self.server.stdout.readline())["grpc"]
        channel = grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)])
        self.addCleanup(channel.close)
        self.client = Reflected(channel)

    def stop(self):
        self.server.terminate()
        self.server.wait(TIMEOUT)
        self.server.stdout.close()

    def world(self, method, **fields):
        return self.client.call("WorldService", method, **fields)

    def test_takes_a_world_through_its_life(self):
        self.assertIn("pliant.v1.WorldService", self.client.services())

        # create
        world = self.world("CreateWorld", world_id="w", scene_yaml=SCENE, durable=True, labels={"lab": "a"})
        self.assertEqual(world.name, "worlds/w")

        # step
        stepped = self.world("StepWorld", name="worlds/w", steps=20, probes=["height"])
        self.assertEqual(stepped.step, 20)
        self.assertLess(stepped.probes[0].values[2], 0.2)

        # watch
        subscription = {"world": "worlds/w", "probes": ["height"], "contacts": True}
        frames = self.client.stream("StreamService", "Subscribe", [{"subscription": subscription}])
        frame = next(frames).frame
        self.assertTrue(frame.keyframe)
        self.assertEqual(frame.step, 20)
        self.assertEqual(len(frame.rigid), 3)
        self.assertEqual(list(frame.probes[0].values), list(stepped.probes[0].values))
        frames.cancel()

        # checkpoint
        checkpoint = self.world("CheckpointWorld", name="worlds/w", checkpoint_id="here")
        self.assertEqual(checkpoint.state_hash, stepped.state_hash)

        # drive
        lease = self.client.call("ControlService", "AcquireLease", world="worlds/w", target="paddle", client="reflected")
        self.world("SetClock", name="worlds/w", real_time={"factor": 1})
        command = {"world": "worlds/w", "lease_id": lease.lease_id, "sequence": 1,
                   "twist": {"linear": [0.1, 0, 0], "angular": [0, 0, 0]}}
        done = threading.Event()
        answers = self.client.stream("ControlService", "Command", hold_open([command], done))
        answer = next(answers)
        self.assertEqual(answer.refused, "")
        self.assertEqual(answer.target, "paddle")
        done.set()  # the end of the stream ends the lease
        self.world("SetClock", name="worlds/w", paused={})

        # fork
        fork = self.world("ForkWorld", name="worlds/w", world_id="fork")
        self.assertEqual(fork.state_hash, self.world("GetWorld", name="worlds/w").state_hash)

        # return to the checkpoint
        restored = self.world("RestoreWorld", name="worlds/w", checkpoint="worlds/w/checkpoints/here")
        self.assertEqual(restored.state_hash, stepped.state_hash)

        # delete
        for name in ("worlds/w", "worlds/fork"):
            self.world("DeleteWorld", name=name)
        self.assertEqual(len(self.world("ListWorlds").worlds), 0)

    def test_reads_what_is_wrong_with_a_scene(self):
        with self.assertRaises(grpc.RpcError) as refused:
            self.world("CreateWorld", scene_yaml=SCENE.replace("density: 1000", "density: -1"))
        self.assertEqual(refused.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertIn("bodies[2].rigid.density", refused.exception.details())


if __name__ == "__main__":
    unittest.main()
