"""Worlds of one scene in lockstep: a message takes actions, and its reply returns observations."""

from __future__ import annotations

import weakref
from typing import Any, Mapping, Optional, Sequence

import numpy as np
import numpy.typing as npt

from pliant import errors
from pliant.commands import within
from pliant.description import Description
from pliant.lockstep.calls import Call, name_world, plan_calls
from pliant.lockstep.exchange import Exchanges
from pliant.world import World

_MAX_BATCH = 1024  # worlds in one message


class Lockstep:
    """Worlds of the same scene, stepped at the same time with an array of actions per step.

        group = pliant.Lockstep(worlds, joints={"arm": None}, probes=["tool"])
        observation = group.step(actions)     # actions (worlds, joints)
        observation.probes                    # (worlds, numbers)

    joints        by robot, the joints for which an action has targets, in order; None: all joints
                  with an actuator
    probes        of the scene, whose numbers are concatenated in `Observation.probes`
    read_joints   True if observations have the positions and velocities of all joints
    timeout       longest wait for a step [s]; None: none

    The requests are made once, and messages carry actions and observations as arrays, over a stream
    to each server. A world that cannot be stepped, for example because its server is gone, is in
    `lost` with the reason, and the others continue; its numbers are NaN. Remove it from `lost` to
    try again.
    """

    def __init__(
        self,
        worlds: Sequence[World],
        *,
        joints: Optional[Mapping[str, Optional[Sequence[str]]]] = None,
        probes: Sequence[str] = (),
        steps: int = 1,
        read_joints: bool = False,
        timeout: Optional[float] = 60.0,
    ) -> None:
        if not worlds:
            raise errors.InvalidRequest("worlds: none are given; expected one or more")
        self.worlds = tuple(worlds)
        self.lost: dict[int, errors.PliantError] = {}
        self._exchanges = Exchanges(timeout)
        weakref.finalize(self, self._exchanges.close)
        self._description: Description = worlds[0].description
        for world in worlds[1:]:
            if world.description.model_hash != self._description.model_hash:
                raise errors.InvalidRequest(
                    f"{world.name}: has another model than {worlds[0].name}; lockstep is for worlds of the "
                    "same scene, step_worlds for any"
                )
        self.joints = [
            self._description.robot(robot).joint(name)
            for robot, names in (joints or {}).items()
            for name in (
                names
                if names is not None
                else [one.name for one in self._description.robot(robot).driven]
            )
        ]
        self.probes = tuple(probes)
        self._read_joints = read_joints
        low = [joint.lower if joint.drive == "position" else -np.inf for joint in self.joints]
        high = [joint.upper if joint.drive == "position" else np.inf for joint in self.joints]
        finite = np.finfo(np.float64).max
        self.low = np.broadcast_to(np.maximum(low, -finite), (len(worlds), len(low)))
        self.high = np.broadcast_to(np.minimum(high, finite), (len(worlds), len(high)))
        self._steps = steps
        self._calls: list[Call] = []
        self._plan()

    def _plan(self) -> None:
        """Makes the requests for the worlds that are not lost."""
        self._exchanges.close()
        alive = [i for i in range(len(self.worlds)) if i not in self.lost]
        self._calls = plan_calls(self.worlds, alive, _MAX_BATCH)
        self._alive = len(alive)
        for call in self._calls:
            batch = call.message.batch
            batch.names.extend(self.worlds[i].name for i in call.indices)
            batch.steps = self._steps
            for joint in self.joints:
                if not batch.targets or batch.targets[-1].target != joint.robot:
                    batch.targets.add(target=joint.robot)
                batch.targets[-1].joints.append(joint.name)
            batch.probes.extend(self.probes)
            batch.joints = self._read_joints

    def step(self, actions: Any = None) -> "Observation":
        """Steps all worlds. Actions have one row per world. NaN, wrong shapes and targets outside
        the joints' limits raise ActionError before anything is sent."""
        numbers = None
        if self.joints:
            numbers = within("actions", actions, self.low, self.high).astype("<f8", copy=False)
        elif actions is not None:
            raise errors.ActionError(
                "actions: are given, but no joints to drive; name them when you make the Lockstep"
            )
        if self._alive + len(self.lost) != len(self.worlds):
            self._plan()
        if numbers is not None:
            for call in self._calls:
                whole = len(call.indices) == len(self.worlds)
                rows = numbers if whole else numbers[call.indices]
                call.message.batch.actions = rows.tobytes()
        replies: list[tuple[list[int], Any]] = []
        for call, reply in zip(self._calls, self._exchanges.step(self._calls)):
            if isinstance(reply, errors.PliantError):
                for i in call.indices:
                    self.lost[i] = name_world(reply, self.worlds[i])
                continue
            for failure in reply.batch.failures:
                i = call.indices[failure.index]
                self.lost[i] = errors.from_status(failure.status)
            replies.append((call.indices, reply.batch))
        return Observation(len(self.worlds), replies)


class Observation:
    """Result of a step of a Lockstep. Rows are worlds; those of lost worlds are NaN."""

    def __init__(self, worlds: int, replies: list[tuple[list[int], Any]]) -> None:
        self._worlds = worlds
        self._replies = replies  # indices of worlds, and pliant.v1.StepBatchResult

    @property
    def state_hashes(self) -> list[str]:
        return self._list("state_hashes", "")

    @property
    def steps(self) -> list[int]:
        return self._list("steps", -1)

    @property
    def times(self) -> list[float]:
        return self._list("times", float("nan"))

    @property
    def probes(self) -> npt.NDArray[np.float64]:
        """(worlds, numbers): numbers of the first probe, then of the second, and so on."""
        return self._rows("probes")

    @property
    def joint_positions(self) -> npt.NDArray[np.float64]:
        """(worlds, joints) of all robots, in the order of the description."""
        return self._rows("joint_positions")

    @property
    def joint_velocities(self) -> npt.NDArray[np.float64]:
        return self._rows("joint_velocities")

    def _list(self, name: str, missing: Any) -> list[Any]:
        found = [missing] * self._worlds
        for indices, result in self._replies:
            for i, one in zip(indices, getattr(result, name)):
                found[i] = one
        return found

    def _rows(self, name: str) -> npt.NDArray[np.float64]:
        """Arrays of all servers as one; a view of the received bytes if there is one server."""
        parts = [
            (indices, np.frombuffer(getattr(result, name), "<f8").reshape(len(indices), -1))
            for indices, result in self._replies
        ]
        if len(parts) == 1 and len(parts[0][0]) == self._worlds:
            return parts[0][1]
        whole = np.full((self._worlds, max((rows.shape[1] for _, rows in parts), default=0)), np.nan)
        for indices, rows in parts:
            whole[indices] = rows
        return whole
