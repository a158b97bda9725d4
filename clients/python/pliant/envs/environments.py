"""Gymnasium environments of one world, and of many worlds on one or more servers."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, Union

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from pliant import errors
from pliant.envs.group import Group, Outcome
from pliant.envs.task import TASKS, Task

Rows = npt.NDArray[np.float32]
Servers = Union[str, Sequence[str], None]


def _make_task(task: str) -> Task:
    if task not in TASKS:
        raise errors.unknown_name("task", task, TASKS, "Pliant")
    return TASKS[task]()


def _spaces(task: Task, observation: npt.NDArray[Any]) -> tuple[Any, Any]:
    return (
        gymnasium.spaces.Box(-np.inf, np.inf, observation.shape, np.float32),
        gymnasium.spaces.Box(-1.0, 1.0, (len(task.actions),), np.float32),
    )


class PliantEnv(gymnasium.Env[Rows, Rows]):
    """An environment of one world. `gymnasium.make("pliant/SoftGrasp-v0",
    server="127.0.0.1:50051")`.

    task      name in TASKS
    server    address of the server; by default PLIANT_SERVER or 127.0.0.1:50051
    options   further arguments of pliant.connect, such as {"token_file": "token", "ca": "ca.pem"}

    Equal seeds and actions lead to equal `info["state_hash"]` on any server of the same version. An
    action of a wrong shape, with NaN or out of [-1, 1] raises ActionError before it is sent. An
    episode in which the solver fails is truncated, and `info["fault"]` has the reason. If the
    server is unreachable, `step` and `reset` raise.
    """

    metadata: dict[str, Any] = {"render_modes": [], "render_fps": 20}

    def __init__(
        self,
        task: str = "pliant/SoftGrasp-v0",
        server: Optional[str] = None,
        *,
        options: Optional[Mapping[str, Any]] = None,
        render_mode: Optional[str] = None,
    ) -> None:
        self.render_mode = render_mode
        self._group = Group(_make_task(task), 1, server, options)
        try:
            first = self._begin(np.random.default_rng(0))
        except BaseException:
            self._group.close()
            raise
        self.observation_space, self.action_space = _spaces(self._group.task, first.observation)
        self._has_begun = False

    def reset(
        self, *, seed: Optional[int] = None, options: Optional[dict[str, Any]] = None
    ) -> tuple[Rows, dict[str, Any]]:
        super().reset(seed=seed)
        outcome = self._begin(self.np_random)
        self._has_begun = True
        return outcome.observation.astype(np.float32), outcome.info

    def step(self, action: Rows) -> tuple[Rows, float, bool, bool, dict[str, Any]]:
        if not self._has_begun:
            raise errors.Refused("step: no episode has begun; call reset first")
        outcome = self._one(self._group.step({0: self._group.check(action)}, {}))
        return (
            outcome.observation.astype(np.float32),
            outcome.judgement.reward,
            outcome.judgement.terminated,
            bool(outcome.fault),
            outcome.info,
        )

    def close(self) -> None:
        self._group.close()

    @property
    def world(self) -> Any:
        """The pliant.World of the environment."""
        return self._group.worlds[0]

    def _begin(self, random: np.random.Generator) -> Outcome:
        return self._one(self._group.step({}, {0: random}))

    def _one(self, outcomes: dict[int, Outcome]) -> Outcome:
        if 0 not in outcomes:
            raise self._group.lost.pop(0)  # a later try may succeed when the server is back
        return outcomes[0]


class PliantVectorEnv(gymnasium.vector.VectorEnv[Rows, Rows, Any]):
    """Many worlds of a task, on one or more servers, stepped with one call for each server.

    `gymnasium.make_vec("pliant/SoftGrasp-v0", num_envs=64, servers=["a:50051", "b:50051"])`. World
    i of an environment seeded with S behaves like a PliantEnv seeded with S + i. An episode that
    has ended restarts with the next step. A world that is lost with its server stays truncated: its
    observations stay as they were, `lost` has the reason, `info["lost"]` marks it, and the other
    worlds continue. When all are lost, `step` raises the error of the first.
    """

    metadata: dict[str, Any] = {
        "render_modes": [],
        "render_fps": 20,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        task: str = "pliant/SoftGrasp-v0",
        num_envs: int = 1,
        servers: Servers = None,
        *,
        server: Optional[str] = None,
        max_episode_steps: int = 200,
        options: Optional[Mapping[str, Any]] = None,
        render_mode: Optional[str] = None,
    ) -> None:
        self.num_envs = num_envs
        self.render_mode = render_mode
        self._max_steps = max_episode_steps
        self._group = Group(
            _make_task(task), num_envs, servers if servers is not None else server, options
        )
        self._randoms = [np.random.default_rng() for _ in range(num_envs)]
        self._lengths = np.zeros(num_envs, np.int64)
        self._ended = np.zeros(num_envs, bool)
        self._has_begun = False
        try:
            self._observations: Rows = np.zeros((num_envs, 0), np.float32)
            outcomes = self._group.step({}, dict(enumerate(self._randoms)))
            self._check_any(outcomes)
        except BaseException:
            self._group.close()
            raise
        first = next(iter(outcomes.values())).observation
        self._observations = np.zeros((num_envs, len(first)), np.float32)
        self.single_observation_space, self.single_action_space = _spaces(self._group.task, first)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    @property
    def lost(self) -> dict[int, errors.PliantError]:
        """Errors of the lost worlds, by index."""
        return dict(self._group.lost)

    @property
    def worlds(self) -> list[Any]:
        return list(self._group.worlds)

    def reset(
        self,
        *,
        seed: Union[int, Sequence[Optional[int]], None] = None,
        options: Optional[dict[str, Any]] = None,
    ) -> tuple[Rows, dict[str, Any]]:
        seeds = (
            [seed + i for i in range(self.num_envs)]
            if isinstance(seed, int)
            else list(seed)
            if seed is not None
            else [None] * self.num_envs
        )
        for i, one in enumerate(seeds):
            if one is not None:
                self._randoms[i] = np.random.Generator(np.random.PCG64(one))
        outcomes = self._group.step({}, dict(enumerate(self._randoms)))
        self._check_any(outcomes)
        self._has_begun = True
        self._lengths[:] = 0
        self._ended[:] = False
        return self._observe(outcomes), self._info(outcomes)

    def step(self, actions: Rows) -> tuple[Rows, Any, Any, Any, dict[str, Any]]:
        if not self._has_begun:
            raise errors.Refused("step: no episode has begun; call reset first")
        if len(actions) != self.num_envs:
            raise errors.ActionError(
                f"actions: {len(actions)} rows are not allowed; expected {self.num_envs}, one for each world",
                place="actions",
            )
        checked = {
            i: self._group.check(action, f"actions[{i}]") for i, action in enumerate(actions)
        }
        starts = {i: self._randoms[i] for i in np.flatnonzero(self._ended).tolist()}
        outcomes = self._group.step(
            {i: action for i, action in checked.items() if i not in starts}, starts
        )
        self._check_any(outcomes)

        rewards = np.zeros(self.num_envs)
        terminated, truncated = np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool)
        for i, outcome in outcomes.items():
            if i in starts:
                self._lengths[i] = 0
                continue
            self._lengths[i] += 1
            rewards[i] = outcome.judgement.reward
            terminated[i] = outcome.judgement.terminated
            truncated[i] = bool(outcome.fault) or self._lengths[i] >= self._max_steps
        truncated[list(self._group.lost)] = True
        self._ended = terminated | truncated
        return self._observe(outcomes), rewards, terminated, truncated, self._info(outcomes)

    def close_extras(self, **_: Any) -> None:
        self._group.close()

    def _check_any(self, outcomes: Mapping[int, Outcome]) -> None:
        if not outcomes and self._group.lost:
            raise next(iter(self._group.lost.values()))

    def _observe(self, outcomes: Mapping[int, Outcome]) -> Rows:
        for i, outcome in outcomes.items():
            self._observations[i] = outcome.observation
        return self._observations.copy()

    def _info(self, outcomes: Mapping[int, Outcome]) -> dict[str, Any]:
        info: dict[str, Any] = {}
        for i in range(self.num_envs):
            one = (
                outcomes[i].info
                if i in outcomes
                else {"lost": True, "reason": self._group.lost[i].message}
            )
            info = self._add_info(info, one, i)
        return info
