"""Many worlds in lockstep: one call for each server and step, with actions in and observations
out."""

from __future__ import annotations

import collections
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, Union

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
    calls = plan_calls(worlds, range(len(worlds)))
    for call in calls:
        call.message.requests.extend(requests[i] for i in call.indices)
    results: list[Result] = [errors.PliantError("not stepped")] * len(worlds)
    for i, reply in call_servers(worlds, calls, timeout):
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


class Call(NamedTuple):
    """A call of one server, with the indices of its worlds."""

    connection: Any
    indices: list[int]
    message: Any  # pliant.v1.StepWorldsRequest


def plan_calls(worlds: Sequence[World], indices: Sequence[int]) -> list[Call]:
    """Calls for some of the worlds, at most 256 in each, whose requests are to be added in the order
    of their indices."""
    by_server: dict[Any, list[int]] = {}
    for i in indices:
        by_server.setdefault(worlds[i]._connection, []).append(i)
    return [
        Call(connection, there[at : at + _MAX_WORLDS], world_pb2.StepWorldsRequest())
        for connection, there in by_server.items()
        for at in range(0, len(there), _MAX_WORLDS)
    ]


def call_servers(
    worlds: Sequence[World], calls: Sequence[Call], timeout: Optional[float]
) -> list[tuple[int, Any]]:
    """Calls all servers at the same time. Returns the response or the error of each world, by its
    index."""
    if len(calls) == 1:  # without the threads that a future needs
        replies = [_call(calls[0], timeout)]
    else:
        started = [_start(call, timeout) for call in calls]
        replies = [_finish(call, future) for call, future in zip(calls, started)]
    results: list[tuple[int, Any]] = []
    for call, reply in zip(calls, replies):
        if isinstance(reply, errors.PliantError):
            results += [(i, _name_world(reply, worlds[i])) for i in call.indices]
        else:
            results += zip(call.indices, _split(reply))
    return results


def _call(call: Call, timeout: Optional[float]) -> Any:
    try:
        return call.connection.call(_METHOD, call.message, timeout=timeout)
    except errors.PliantError as error:
        return error


def _start(call: Call, timeout: Optional[float]) -> Any:
    try:
        return call.connection.start(_METHOD, call.message, timeout)
    except errors.PliantError as error:
        return error


def _finish(call: Call, future: Any) -> Any:
    if isinstance(future, errors.PliantError):
        return future
    try:
        return future.result()
    except grpc.RpcError as error:
        return call.connection.error(error, _METHOD)


def _split(response: Any) -> list[Any]:
    return [
        errors.from_status(one.status) if one.HasField("status") else one.response
        for one in response.results
    ]


def _name_world(error: errors.PliantError, world: World) -> errors.PliantError:
    return type(error)(f"{world.name} at {world.address}: {error.message}", code=error.code)


class Lockstep:
    """Worlds of the same scene, stepped at the same time with an array of actions each step.

        group = pliant.Lockstep(worlds, joints={"arm": None}, probes=["tool"])
        observation = group.step(actions)     # actions (worlds, joints)
        observation.probes                    # (worlds, numbers)

    joints        by robot, the joints that an action has targets for, in order; None: all that have
                  an actuator
    probes        of the scene, whose numbers follow each other in `Observation.probes`
    read_joints   whether observations have the positions and velocities of all joints

    The requests are made once; a step writes the numbers of its actions into them. A world that
    cannot be stepped, for example because its server is gone, is in `lost` with the reason, and the
    others go on; its numbers are NaN. Remove it from `lost` to try again.
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
        self._steps = steps
        self._calls: list[Call] = []
        self._values: dict[int, list[Any]] = {}  # of each world's commands, in its request
        sizes = collections.Counter(joint.robot for joint in self.joints)
        self._ends = [int(end) for end in np.cumsum([0, *sizes.values()])]
        self._plan()

    def _plan(self) -> None:
        """Makes the requests for the worlds that are not lost."""
        alive = [i for i in range(len(self.worlds)) if i not in self.lost]
        self._calls, self._values = plan_calls(self.worlds, alive), {}
        for call in self._calls:
            for i in call.indices:
                request = call.message.requests.add()
                request.CopyFrom(self._make_request(self.worlds[i], self._steps))
                self._values[i] = [command.joint_targets.values for command in request.commands]

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
            # joints are part of every frame, whatever bodies it has
            bodies = (still or [body.name for body in self._description.rigid])[:1]
            request.frame.CopyFrom(make_subscription(world.description, bodies=bodies))
        return request

    def step(self, actions: Any = None) -> "Observation":
        """Steps all worlds. Actions have a row for each world; NaN, wrong shapes and targets out of
        the joints' limits are refused before anything is sent."""
        rows: list[list[list[float]]] = []  # of each robot, by world
        if self.joints:
            numbers = within("actions", actions, self.low, self.high)
            rows = [numbers[:, a:b].tolist() for a, b in zip(self._ends, self._ends[1:])]
        elif actions is not None:
            raise errors.ActionError(
                "actions: are given, but no joints to drive; name them when you make the Lockstep"
            )
        if len(self._values) + len(self.lost) != len(self.worlds):
            self._plan()
        for i, values in self._values.items():
            for targets, of_robot in zip(values, rows):
                targets[:] = of_robot[i]
        responses: list[Any] = [None] * len(self.worlds)
        for i, reply in call_servers(self.worlds, self._calls, self._timeout):
            if isinstance(reply, errors.PliantError):
                self.lost[i] = reply
            else:
                responses[i] = reply
        return Observation(responses)


class Observation:
    """What a step of a Lockstep led to; rows are worlds, and NaN where they are lost."""

    def __init__(self, responses: list[Any]) -> None:
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
        return self._gather(
            lambda response: [x for one in response.probes for x in one.values[:]]
        )

    @property
    def joint_positions(self) -> npt.NDArray[np.float64]:
        """(worlds, joints) of all robots, in the order of the description."""
        return self._gather(lambda response: response.frame.joints.positions[:])

    @property
    def joint_velocities(self) -> npt.NDArray[np.float64]:
        return self._gather(lambda response: response.frame.joints.velocities[:])

    def _gather(self, read: Callable[[Any], list[float]]) -> npt.NDArray[np.float64]:
        """The lists of all worlds as rows. `read` takes slices of repeated fields, which are copied
        in C, where iteration makes a number at a time."""
        there = [i for i, response in enumerate(self.responses) if response is not None]
        rows = np.array([read(self.responses[i]) for i in there], np.float64).reshape(
            len(there), -1 if there else 0
        )
        if len(there) == len(self.responses):
            return rows
        whole = np.full((len(self.responses), rows.shape[1]), np.nan)
        whole[there] = rows
        return whole
