"""A random policy for 10,000 vectorised steps: neither the client nor the server grows."""

import os
import unittest

import gymnasium
import numpy as np
from servers import ServerProcess, resident_megabytes

import pliant.envs  # noqa: F401 (registers the environments)

STEPS, WARM = 10_000, 1_000


class Leaks(unittest.TestCase):
    def test_memory_is_flat_after_the_first_thousand_steps(self):
        process = ServerProcess()
        self.addCleanup(process.stop)
        envs = gymnasium.make_vec("pliant/BeamInsertion-v0", num_envs=2, server=process.address)
        self.addCleanup(envs.close)
        envs.reset(seed=1)
        random = np.random.default_rng(1)

        def measure():
            return np.array(
                [resident_megabytes(os.getpid()), resident_megabytes(process.process.pid)]
            )

        warm = None
        for step in range(STEPS):
            envs.step(random.uniform(-1, 1, (2, 4)).astype(np.float32))
            if step == WARM:
                warm = measure()
        grown = measure() - warm
        print(f"client and server grew by {grown} MB after {WARM} of {STEPS} steps")
        # 1 kB kept for each step would be 9 MB
        self.assertLess(grown.max(), 9)


if __name__ == "__main__":
    unittest.main()
