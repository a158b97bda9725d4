"""Environments for Gymnasium, which `import pliant.envs` registers: "pliant/SoftGrasp-v0" and
"pliant/BeamInsertion-v0".

    import gymnasium
    import pliant.envs

    env = gymnasium.make("pliant/SoftGrasp-v0", server="127.0.0.1:50051")
    envs = gymnasium.make_vec("pliant/SoftGrasp-v0", num_envs=8, servers=["127.0.0.1:50051"])
"""

try:
    import gymnasium
except ImportError as error:
    raise ImportError(
        "pliant.envs needs Gymnasium, for Python 3.10 and later: pip install 'pliant[gym]'"
    ) from error

from pliant.envs.environments import PliantEnv, PliantVectorEnv
from pliant.envs.task import TASKS, BeamInsertion, SoftGrasp, Task

MAX_EPISODE_STEPS = 200  # 10 s

for _name in TASKS:
    gymnasium.register(
        _name,
        "pliant.envs:PliantEnv",
        vector_entry_point="pliant.envs:PliantVectorEnv",
        max_episode_steps=MAX_EPISODE_STEPS,
        kwargs={"task": _name},
    )

__all__ = [
    "MAX_EPISODE_STEPS",
    "TASKS",
    "BeamInsertion",
    "PliantEnv",
    "PliantVectorEnv",
    "SoftGrasp",
    "Task",
]
