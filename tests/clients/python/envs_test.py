"""The environments: Gymnasium's checker, seeds, refused actions, lost servers, and a policy that
completes the insertion."""

import unittest
import warnings

import numpy as np
from servers import ServerProcess

import pliant

try:
    import gymnasium
    from gymnasium.utils.env_checker import check_env
except ImportError:
    raise unittest.SkipTest("Gymnasium is not installed") from None

import pliant.envs
from pliant.envs.task import BeamInsertion


class Environments(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.first, cls.second = ServerProcess(), ServerProcess()
        cls.addClassCleanup(cls.first.stop)
        cls.addClassCleanup(cls.second.stop)

    def make(self, name, **named):
        env = gymnasium.make(name, server=self.first.address, **named)
        self.addCleanup(env.close)
        return env

    def make_vec(self, name, count, servers):
        env = gymnasium.make_vec(
            name, num_envs=count, servers=[server.address for server in servers]
        )
        self.addCleanup(env.close)
        return env

    def test_they_pass_the_checker_of_gymnasium(self):
        for name in pliant.envs.TASKS:
            with self.subTest(name), warnings.catch_warnings():
                # observations are not bounded, and there is no picture to render
                warnings.filterwarnings("ignore", message=".*(infinity|render|reward).*")
                check_env(self.make(name).unwrapped, skip_render_check=True)

    def test_equal_seeds_and_actions_lead_to_equal_states_on_any_server(self):
        for name in pliant.envs.TASKS:
            with self.subTest(name):
                single = self.make(name)
                one, two = (
                    self.make_vec(name, 2, [self.first]),
                    self.make_vec(name, 2, [self.first, self.second]),
                )
                observations = [
                    single.reset(seed=7)[0],
                    one.reset(seed=6)[0][1],
                    two.reset(seed=6)[0][1],
                ]
                hashes = []
                random = np.random.default_rng(1)
                for _ in range(8):
                    action = random.uniform(-1, 1, single.action_space.shape).astype(np.float32)
                    rows = np.stack([action, action])
                    hashes.append(
                        [single.step(action)[4]["state_hash"]]
                        + [env.step(rows)[4]["state_hash"][1] for env in (one, two)]
                    )
                for row in hashes:
                    self.assertEqual(len(set(row)), 1)
                self.assertEqual(len({row[0] for row in hashes}), len(hashes))
                for other in observations[1:]:
                    self.assertEqual(other.tolist(), observations[0].tolist())
                # another seed gives another start
                self.assertNotEqual(single.reset(seed=8)[0].tolist(), observations[0].tolist())

    def test_wrong_actions_are_refused_before_they_are_sent(self):
        env = self.make("pliant/BeamInsertion-v0").unwrapped
        with self.assertRaisesRegex(pliant.Refused, "call reset first"):
            env.step(np.zeros(4))
        env.reset(seed=1)
        before = env.world.info.step
        for action, said in (
            (np.zeros(3), r"action: the shape \(3,\) is not allowed; expected \(4,\)"),
            ([0, 0, np.nan, 0], r"action\[2\]: nan is not allowed; expected a number in \[-1, 1\]"),
            ([0, -1.5, 0, 0], r"action\[1\]: -1.5 is not allowed; expected a number in \[-1, 1\]"),
        ):
            with self.assertRaisesRegex(pliant.ActionError, said):
                env.step(action)
        self.assertEqual(env.world.info.step, before)
        envs = self.make_vec("pliant/BeamInsertion-v0", 2, [self.first])
        envs.reset(seed=1)
        with self.assertRaisesRegex(pliant.ActionError, r"actions\[1\]\[3\]: 2 is not allowed"):
            envs.step(np.array([[0, 0, 0, 0], [0, 0, 0, 2]], np.float32))
        with self.assertRaisesRegex(pliant.ActionError, "3 rows are not allowed; expected 2"):
            envs.step(np.zeros((3, 4), np.float32))

    def test_a_beam_can_be_pushed_into_the_slot(self):
        """A scripted policy: moves the foot over the slot, then down, with feedback of the foot's
        measured position."""
        env = self.make("pliant/BeamInsertion-v0")
        observation, _ = env.reset(seed=3)
        terminated = truncated = False
        total = steps = 0
        info = {}
        while not (terminated or truncated):
            foot = observation[-12:-9]
            off = BeamInsertion.SLOT - foot[:2]
            is_over = abs(off[0]) < 0.004 and abs(off[1]) < 0.02
            is_inside = foot[2] < BeamInsertion.TOP
            down = -0.6 if is_over or is_inside else 0.0
            action = np.clip([2 * off[0] / 0.2, 2 * off[1] / 0.2, down, 0], -1, 1).astype(
                np.float32
            )
            observation, reward, terminated, truncated, info = env.step(action)
            total += reward
            steps += 1
        print(f"insertion: {steps} actions, return {total:.2f}, foot at {observation[-12:-9]}")
        self.assertTrue(info["is_success"])

    def test_episodes_end_and_begin_anew(self):
        envs = gymnasium.make_vec(
            "pliant/BeamInsertion-v0", num_envs=2, server=self.first.address, max_episode_steps=3
        )
        self.addCleanup(envs.close)
        envs.reset(seed=1)
        ends = []
        for _ in range(9):
            _, _, _, truncated, info = envs.step(np.zeros((2, 4), np.float32))
            ends.append(bool(truncated.all()))
        # three actions, then one that begins the next episode
        self.assertEqual(ends, [False, False, True, False, False, False, True, False, False])
        self.assertEqual(
            info["step"].tolist(), [BeamInsertion.settling_steps + BeamInsertion.steps] * 2
        )

    def test_a_server_that_dies_truncates_its_worlds_alone(self):
        process = ServerProcess()
        self.addCleanup(process.stop)
        envs = gymnasium.make_vec(
            "pliant/BeamInsertion-v0",
            num_envs=2,
            servers=[self.first.address, process.address],
            options={"reconnect_timeout": 0.5},
        )
        self.addCleanup(envs.close)
        before, _ = envs.reset(seed=1)
        process.kill()
        for _ in range(3):
            after, rewards, _, truncated, info = envs.step(np.full((2, 4), 0.5, np.float32))
        self.assertEqual(truncated.tolist(), [False, True])
        self.assertEqual(list(envs.unwrapped.lost), [1])
        self.assertIn(process.address, info["reason"][1])
        self.assertEqual(after[1].tolist(), before[1].tolist())
        self.assertNotEqual(after[0].tolist(), before[0].tolist())

    def test_closing_deletes_the_worlds(self):
        env = self.make("pliant/SoftGrasp-v0")
        name = env.unwrapped.world.name
        env.close()
        with pliant.connect(self.first.address) as server:
            self.assertNotIn(name, [world.name for world in server.list_worlds()])


if __name__ == "__main__":
    unittest.main()
