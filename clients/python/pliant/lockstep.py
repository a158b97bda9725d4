"""Many worlds in lockstep: one call for each server and step, with actions in and observations
out."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional, Sequence, Union

import grpc
import numpy as np
import numpy.typing as npt

from pliant import errors
from pliant.commands import within
from pliant.description import Description
from pliant.frames import probe_value
from pliant.subscription import make_subscription
from pliant.v1 import world_pb2
from pliant.world import Commands, Samples, World, make_step_request

_METHOD = "WorldService/StepWorlds"
_MAX_WORLDS = 256  # in one call


class WorldStep(NamedTuple):
    """What a step of a world led to. `message`: pliant.v1.StepWorldResponse."""

    step: int
    time: float
    state_hash: str
    probes: Samples
    message: Any


Result = Union[WorldStep, errors.PliantError]


def step_worlds(
    worlds: Sequence[World],
    steps: int = 1,
    *,
    commands: Optional[Sequence[Optional[Commands]]] = None,
    probes: Sequence[str] = (),
    timeout: Optional[float] = None,
) -> list[Result]:
    """Steps worlds at the same time, whatever scenes and servers they are of. The result of a world
    that could not be stepped is its error, and the others have made their steps."""
    if commands is not None and len(commands) != len(worlds):
        raise errors.ActionError(
            f"commands: {len(commands)} are not allowed; expected {len(worlds)}, one for each world"
        )
    requests = [
        make_step_request(world.description, steps, commands[i] if commands else None, probes)
        for i, world in enumerate(worlds)
    ]
    results: list[Result] = [errors.PliantError("not stepped")] * len(worlds)
    for world_indices, replies in call_servers(worlds, requests, timeout):
        for i, reply in zip(world_indices, replies):
            results[i] = reply if isinstance(reply, errors.PliantError) else read_step(reply)
    return results


def read_step(message: Any) -> WorldStep:
    return WorldStep(
        message.step,
        message.time,
        message.state_hash,
        {one.name: probe_value(one) for one in message.probes},
        message,
    )


def call_servers(
    worlds: Sequence[World], requests: Sequence[Any], timeout: Optional[float]
) -> list[tuple[list[int], list[Any]]]:
    """Sends requests to step, at most 256 in a call, to all servers at the same time. Returns, for
    each call, the indices of its worlds with their responses or errors."""
    by_server: dict[Any, list[int]] = {}
    for i, world in enumerate(worlds):
        by_server.setdefault(world._connection, []).append(i)
    calls = []
    for connection, indices in by_server.items():
        for at in range(0, len(indices), _MAX_WORLDS):
            some = indices[at : at + _MAX_WORLDS]
            message = world_pb2.StepWorldsRequest()
            message.requests.extend(requests[i] for i in some)
            calls.append((connection, some, message))
    if len(calls) == 1:  # without the threads that a future needs
        connection, some, message = calls[0]
        try:
            response = connection.call(_METHOD, message, timeout=timeout)
            return [(some, _split(response))]
        except errors.PliantError as error:
            return [(some, _fail(error, worlds, some))]
    started = []
    for connection, some, message in calls:
        try:
            started.append(connection.start(_METHOD, message, timeout))
        except errors.PliantError as error:
            started.append(error)
    replies = []
    for (connection, some, _), future in zip(calls, started):
        try:
            if isinstance(future, errors.PliantError):
                raise future
            replies.append((some, _split(future.result())))
        except grpc.RpcError as error:
            replies.append((some, _fail(connection.error(error, _METHOD), worlds, some)))
        except errors.PliantError as error:
            replies.append((some, _fail(error, worlds, some)))
    return replies


def _split(response: Any) -> list[Any]:
    return [
        errors.from_status(one.status) if one.HasField("status") else one.response
        for one in response.results
    ]


def _fail(error: errors.PliantError, worlds: Sequence[World], some: Sequence[int]) -> list[Any]:
    """The error of a call, for each of its worlds."""
    return [
        type(error)(f"{worlds[i].name} at {worlds[i].address}: {error.message}", code=error.code)
        for i in some
    ]


class Lockstep:
    """Worlds of the same scene, stepped at the same time with an array of actions each step.

        group = pliant.Lockstep(worlds, joints={"arm": None}, probes=["tool"])
        observation = group.step(actions)     # actions (worlds, joints) → probes (worlds, numbers)
        and joints

    joints   by robot, the joints that an action has targets for, in order; None: all that have an
             actuator probes   of the scene, whose numbers follow each other in `Observation.probes`
             read_joints   whether observations have the positions and velocities of all joints

    The requests are made once; a step writes the numbers of its actions into them. A world that
    cannot be stepped, because it or its server is gone, is in `lost` with the reason, its numbers
    are NaN from then on, and the others go on.
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
        self._timeout = timeout
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
        self._requests = [self._make_request(world, steps) for world in worlds]
        self._values = [
            [command.joint_targets.values for command in request.commands]
            for request in self._requests
        ]
        sizes = [len(command.joint_targets.joints) for command in self._requests[0].commands]
        self._ends = [int(end) for end in np.cumsum([0, *sizes])]

    def _make_request(self, world: World, steps: int) -> Any:
        request = make_step_request(world.description, steps, None, self.probes)
        for joint in self.joints:
            if not request.commands or request.commands[-1].target != joint.robot:
                request.commands.add(target=joint.robot)
            targets = request.commands[-1].joint_targets
            targets.joints.append(joint.name)
            targets.values.append(0.0)
        if self._read_joints:
            still = [body.name for body in self._description.rigid if body.motion == "FIXED"]
            bodies = (still or [body.name for body in self._description.rigid])[
                :1
            ]  # joints are part of every frame
            request.frame.CopyFrom(make_subscription(world.description, bodies=bodies))
        return request

    def step(self, actions: Any = None) -> "Observation":
        """Steps all worlds. Actions have a row for each world; NaN, wrong shapes and targets out of
        the joints' limits are refused before anything is sent."""
        if self.joints:
            rows = within("actions", actions, self.low, self.high).tolist()
            for values, row in zip(self._values, rows):
                for k, targets in enumerate(values):
                    targets[:] = row[self._ends[k] : self._ends[k + 1]]
        elif actions is not None:
            raise errors.ActionError(
                "actions: are given, but no joints to drive; name them when you make the Lockstep"
            )
        alive = (
            [i for i in range(len(self.worlds)) if i not in self.lost]
            if self.lost
            else list(range(len(self.worlds)))
        )
        responses: list[Any] = [None] * len(self.worlds)
        if alive:
            worlds, requests = [self.worlds[i] for i in alive], [self._requests[i] for i in alive]
            for indices, replies in call_servers(worlds, requests, self._timeout):
                for k, reply in zip(indices, replies):
                    if isinstance(reply, errors.PliantError):
                        self.lost[alive[k]] = reply
                    else:
                        responses[alive[k]] = reply
        return Observation(self, responses)


class Observation:
    """What a step of a Lockstep led to; rows are worlds, and NaN where they are lost."""

    def __init__(self, group: Lockstep, responses: list[Any]) -> None:
        self._group = group
        self.responses = responses  # pliant.v1.StepWorldResponse or None

    @property
    def state_hashes(self) -> list[str]:
        return [response.state_hash if response else "" for response in self.responses]

    @property
    def steps(self) -> list[int]:
        return [response.step if response else -1 for response in self.responses]

    @property
    def probes(self) -> npt.NDArray[np.float64]:
        """(worlds, numbers): those of the first probe, then those of the second, and so on."""
        return self._gather(lambda response: (one.values for one in response.probes))

    @property
    def joint_positions(self) -> npt.NDArray[np.float64]:
        """(worlds, joints) of all robots, in the order of the description."""
        return self._gather(lambda response: (response.frame.joints.positions,))

    @property
    def joint_velocities(self) -> npt.NDArray[np.float64]:
        return self._gather(lambda response: (response.frame.joints.velocities,))

    def _gather(self, lists: Any) -> npt.NDArray[np.float64]:
        flat: list[float] = []
        there = []
        for i, response in enumerate(self.responses):
            if response is None:
                continue
            there.append(i)
            for values in lists(response):
                flat.extend(values)
        rows = np.array(flat).reshape(len(there), -1) if there else np.zeros((0, 0))
        if len(there) == len(self.responses):
            return rows
        whole = np.full((len(self.responses), rows.shape[1]), np.nan)
        whole[there] = rows
        return whole
