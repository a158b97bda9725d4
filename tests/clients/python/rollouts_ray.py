"""Rollouts on a local Ray cluster of two nodes, with two servers of which one dies."""

import os
import pathlib
import tempfile
import threading
import unittest

import numpy as np
from servers import ServerProcess, wait_until

try:
    import gymnasium  # noqa: F401
    import ray
    from ray.cluster_utils import Cluster
except ImportError:
    raise unittest.SkipTest("Ray or Gymnasium is not installed") from None

from pliant.envs.rollouts import collect


class Rollouts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
        )
        cls.cluster.add_node(num_cpus=1)
        ray.init(address=cls.cluster.address, log_to_driver=False)

    @classmethod
    def tearDownClass(cls):
        ray.shutdown()
        cls.cluster.shutdown()

    def serve(self):
        process = ServerProcess()
        self.addCleanup(process.stop)
        return process

    def test_workers_on_two_nodes_give_what_one_server_gives(self):
        first, second = self.serve(), self.serve()
        two = collect(
            "pliant/BeamInsertion-v0",
            [first.address, second.address],
            envs_per_server=1,
            steps=4,
            seed=5,
            worker_options={"num_cpus": 1, "scheduling_strategy": "SPREAD"},
            policy=half,
        )
        one = collect(
            "pliant/BeamInsertion-v0",
            [first.address],
            envs_per_server=2,
            steps=4,
            seed=5,
            policy=half,
        )
        self.assertEqual((two.lost, one.lost), ({}, {}))
        self.assertEqual(one.rollouts[0].observations.shape[:2], (4, 2))
        for step in range(4):
            self.assertEqual(
                [rollout.state_hashes[step][0] for rollout in two.rollouts],
                one.rollouts[0].state_hashes[step],
            )

    def test_a_server_that_dies_fails_its_worlds_alone(self):
        good, bad = self.serve(), self.serve()
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        folder = pathlib.Path(temporary.name)
        killer = threading.Thread(target=kill_while_two_step, args=(bad, folder))
        killer.start()
        self.addCleanup(killer.join)
        done = collect(
            "pliant/BeamInsertion-v0",
            [good.address, bad.address],
            envs_per_server=1,
            steps=150,
            seed=1,
            policy=HalfUntilAServerIsDead(folder, 150),
            options={"reconnect_timeout": 0.5},
        )
        self.assertEqual(
            [rollout.server for rollout in done.rollouts if len(rollout.rewards) == 150],
            [good.address],
        )
        self.assertTrue(done.lost)
        for name in done.lost:
            self.assertIn(bad.address, name)

    def test_an_absent_server_is_named(self):
        good = self.serve()
        done = collect(
            "pliant/BeamInsertion-v0", [good.address, "127.0.0.1:1"], envs_per_server=1, steps=2
        )
        self.assertEqual(len(done.rollouts), 1)
        self.assertIn("no server answers at 127.0.0.1:1", done.lost["127.0.0.1:1"])


def half(observations):
    return np.full((len(observations), 4), 0.5, np.float32)


class HalfUntilAServerIsDead:
    """A policy that reports its second action, and whose last one waits until the server is dead."""

    def __init__(self, folder, steps):
        self.folder, self.steps, self.taken = folder, steps, 0

    def __call__(self, observations):
        self.taken += 1
        if self.taken == 2:
            (self.folder / f"stepping_{os.getpid()}").touch()
        if self.taken == self.steps:
            wait_until((self.folder / "dead").exists)
        return half(observations)


def kill_while_two_step(process, folder):
    wait_until(lambda: len(list(folder.glob("stepping_*"))) == 2)
    process.kill()
    (folder / "dead").touch()


if __name__ == "__main__":
    unittest.main()
