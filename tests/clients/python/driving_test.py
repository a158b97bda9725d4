"""Leases and commands: heartbeat, latency, and how a lease is lost."""

import tempfile
import time
import unittest

from servers import SCENE, TIMEOUT, ServerProcess, WithServer, wait_until, write_arm

import pliant


class Leases(WithServer):
    def setUp(self):
        super().setUp()
        self.world = self.server.create_world(scene_yaml=SCENE, world_id="w")
        self.world.run(1.0)

    def test_commands_move_the_target_and_are_timed(self):
        start = self.world.probe("paddle", position=True)[2]
        with self.world.lease("paddle", client="tester") as lease:
            sequence = lease.send(pliant.twist((0, 0, 0.2)), hold=2)
            feedback = lease.wait_applied(sequence, TIMEOUT)
            self.assertGreater(feedback.applied_step, 0)
            self.assertTrue(
                wait_until(lambda: self.world.probe("paddle", position=True)[2] > start + 0.02)
            )
            latency = lease.latency
            self.assertGreater(latency.commands, 0)
            self.assertGreater(latency.round_trip_median, 0)
            self.assertGreaterEqual(latency.round_trip_p99, latency.round_trip_median)
        self.assertFalse(lease.is_held)

    def test_a_held_motion_ends_by_itself(self):
        start = self.world.probe("paddle", position=True)[2]
        with self.world.lease("paddle") as lease:
            lease.wait_applied(lease.send(pliant.twist((0, 0, 0.1)), hold=0.3), TIMEOUT)
            time.sleep(1.5)
            first = self.world.probe("paddle", position=True)[2]
            # 0.1 m/s for 0.3 s; a busy server may not keep up
            self.assertGreater(first, start + 0.01)
            time.sleep(0.3)
            self.assertEqual(self.world.probe("paddle", position=True)[2], first)

    def test_the_heartbeat_keeps_a_lease_that_sends_nothing(self):
        with self.world.lease("paddle") as lease:
            time.sleep(3)  # a lease lapses after 1 s
            self.assertTrue(lease.is_held)
            lease.wait_answered(lease.send(pliant.twist()), TIMEOUT)
            with self.assertRaisesRegex(pliant.Refused, "paddle"):
                self.world.lease("paddle")
        self.world.lease("paddle").close()  # it was given back at once

    def test_a_takeover_ends_the_stream_with_the_reason(self):
        reasons = []
        first = self.world.lease("paddle", client="first", on_lost=reasons.append)
        self.addCleanup(first.close)
        with self.world.lease("paddle", client="second", takeover=True):
            self.assertTrue(wait_until(lambda: not first.is_held))
            with self.assertRaisesRegex(pliant.LeaseLost, "second"):
                first.send(pliant.twist())
        self.assertEqual(len(reasons), 1)

    def test_a_wrong_command_is_refused_before_it_is_sent(self):
        with self.world.lease("paddle") as lease:
            with self.assertRaises(pliant.ActionError):
                lease.send(pliant.twist((0, float("inf"), 0)))
            lease.wait_answered(lease.send(pliant.twist()), TIMEOUT)
        with self.assertRaisesRegex(pliant.UnknownName, 'did you mean "paddle"'):
            self.world.lease("padle")

    def test_a_command_that_the_server_refuses_is_raised_and_keeps_the_lease(self):
        with self.world.lease("paddle") as lease:
            self.world.stop()
            with self.assertRaisesRegex(pliant.Refused, "command 1 .*is refused"):
                lease.wait_answered(lease.send(pliant.twist()), TIMEOUT)
            self.world.resume()
            lease.wait_applied(lease.send(pliant.twist()), TIMEOUT)

    def test_joints_are_driven_by_name_and_in_order(self):
        with tempfile.TemporaryDirectory() as folder:
            arm = self.server.create_world(write_arm(folder))
        arm.run(1.0)
        with arm.lease("arm") as lease:
            lease.wait_applied(lease.send(pliant.joint_targets([0.3, -0.2])), TIMEOUT)
            self.assertTrue(
                wait_until(lambda: abs(arm.probe("arm/elbow", quantity="POSITION")[0] + 0.2) < 0.1)
            )
            with self.assertRaisesRegex(
                pliant.ActionError, "3 numbers are not allowed; expected 2, .*shoulder, elbow"
            ):
                lease.send(pliant.joint_targets([0, 0, 0]))


class Loss(unittest.TestCase):
    def test_a_broken_connection_loses_the_lease_and_repeats_nothing(self):
        process = ServerProcess()
        self.addCleanup(process.stop)
        with pliant.connect(process.address, reconnect_timeout=TIMEOUT) as server:
            world = server.create_world(scene_yaml=SCENE, world_id="w", durable=True)
            world.run(1.0)
            lease = world.lease("paddle")
            lease.wait_applied(lease.send(pliant.twist((0, 0, 0.1)), hold=600), TIMEOUT)
            process.kill()
            self.assertTrue(wait_until(lambda: not lease.is_held))
            again = ServerProcess(port=process.port, folder=process.folder)
            self.addCleanup(again.stop)
            self.assertTrue(wait_until(lambda: server.is_connected))
            world.run(1.0)
            begun = world.info.step
            self.assertTrue(wait_until(lambda: world.info.step > begun + 20))
            before = world.probe("paddle", position=True).tolist()
            self.assertTrue(wait_until(lambda: world.info.step > begun + 50))
            self.assertEqual(world.probe("paddle", position=True).tolist(), before)
            with self.assertRaisesRegex(pliant.LeaseLost, "acquire it again"):
                lease.send(pliant.twist())
            lease.close()


if __name__ == "__main__":
    unittest.main()
