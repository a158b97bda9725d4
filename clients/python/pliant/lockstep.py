"""Many worlds in lockstep: one message per server and step takes actions, and another one returns
observations."""

from __future__ import annotations

import queue
import threading
import time
import weakref
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Union

import grpc
import numpy as np
import numpy.typing as npt

from pliant import errors
from pliant.commands import within
from pliant.description import Description
from pliant.frames import probe_value
from pliant.v1 import world_pb2
from pliant.world import Commands, Samples, World, make_step_request

_METHOD = "WorldService/StepWorlds"
_STREAM = "WorldService/Lockstep"
_MAX_WORLDS = 256  # in one call
_MAX_BATCH = 1024


class WorldStep(NamedTuple):
    """Result of a step of a world. `message`: pliant.v1.StepWorldResponse."""

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
    """Steps worlds of any scenes and servers at the same time. The result of a world that could not
    be stepped is its error; the others are stepped all the same."""
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
    for i, reply in call_worlds(worlds, calls, timeout):
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
    """A call to one server, with the indices of its worlds."""

    connection: Any
    indices: list[int]
    message: Any  # pliant.v1.StepWorldsRequest


def plan_calls(
    worlds: Sequence[World], indices: Sequence[int], max_worlds: int = _MAX_WORLDS
) -> list[Call]:
    """Calls for some of the worlds, with up to `max_worlds` in each. The caller adds the requests
    in the order of the indices."""
    by_server: dict[Any, list[int]] = {}
    for i in indices:
        by_server.setdefault(worlds[i]._connection, []).append(i)
    return [
        Call(connection, there[at : at + max_worlds], world_pb2.StepWorldsRequest())
        for connection, there in by_server.items()
        for at in range(0, len(there), max_worlds)
    ]


def call_servers(calls: Sequence[Call], timeout: Optional[float]) -> list[Any]:
    """Calls all servers at the same time. Returns the response or the error of each call."""
    if len(calls) == 1:  # avoids the threads of futures
        return [_call(calls[0], timeout)]
    started = [_start(call, timeout) for call in calls]
    return [_finish(call, future) for call, future in zip(calls, started)]


def call_worlds(
    worlds: Sequence[World], calls: Sequence[Call], timeout: Optional[float]
) -> list[tuple[int, Any]]:
    """Calls all servers with requests of single worlds. Returns the response or the error of each
    world, by its index."""
    results: list[tuple[int, Any]] = []
    for call, reply in zip(calls, call_servers(calls, timeout)):
        if isinstance(reply, errors.PliantError):
            results += [(i, _name_world(reply, worlds[i])) for i in call.indices]
        else:
            results += [
                (i, errors.from_status(one.status) if one.HasField("status") else one.response)
                for i, one in zip(call.indices, reply.results)
            ]
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


class _Stream:
    """Exchanges messages with one server in turns. An error ends the stream."""

    def __init__(self, connection: Any, timeout: Optional[float]) -> None:
        self._connection = connection
        self._timeout = timeout
        self._requests: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._replies = connection.stream(_STREAM, iter(self._requests.get, None))
        self._sent_at: Optional[float] = None  # none: no reply is awaited
        self._is_late = False
        self._closed = threading.Event()
        if timeout is not None:
            watch = threading.Thread(
                target=self._watch, args=[timeout], name="pliant lockstep", daemon=True
            )
            watch.start()

    def send(self, message: Any) -> None:
        self._sent_at = time.monotonic()
        self._requests.put(message)

    def receive(self) -> Any:
        """The reply to the last message. Raises its error."""
        try:
            reply = next(self._replies)
        except (grpc.RpcError, StopIteration) as error:
            raise self._explain(error) from None
        self._sent_at = None
        return reply

    def close(self) -> None:
        self._closed.set()
        if self._connection.is_inherited:  # by a forked child, which must not touch gRPC
            return
        self._requests.put(None)
        self._replies.cancel()

    def _explain(self, error: Union[grpc.RpcError, StopIteration]) -> errors.PliantError:
        address = self._connection.address
        if self._is_late:
            return errors.TimedOut(
                f"Lockstep at {address}: no answer within {self._timeout:g} s",
                code="DEADLINE_EXCEEDED",
            )
        if isinstance(error, grpc.RpcError):
            explained: errors.PliantError = self._connection.error(error, _STREAM)
            return explained
        return errors.Unreachable(f"the server at {address} ended the stream", code="UNAVAILABLE")

    def _watch(self, timeout: float) -> None:
        """Ends the stream when a reply is late, since a stream has no time limit for a message."""
        while not self._closed.wait(timeout / 4):
            sent_at = self._sent_at
            if sent_at is not None and time.monotonic() - sent_at > timeout:
                self._is_late = True
                self._replies.cancel()
                return


class _Streams:
    """The streams of a Lockstep, one for each of its calls. They open with the first step, and
    again after an error."""

    def __init__(self, timeout: Optional[float]) -> None:
        self._timeout = timeout
        self._open: dict[int, _Stream] = {}

    def step(self, calls: Sequence[Call]) -> list[Any]:
        """Sends all messages, then waits. Returns the response or the error of each call."""
        try:
            return self._exchange(calls)
        except BaseException:  # an interrupt leaves replies unread
            self.close()
            raise

    def _exchange(self, calls: Sequence[Call]) -> list[Any]:
        replies: list[Any] = []
        for k, call in enumerate(calls):
            try:
                call.connection.wait_for_server()
                if k not in self._open:
                    self._open[k] = _Stream(call.connection, self._timeout)
                self._open[k].send(call.message)
                replies.append(None)
            except errors.PliantError as error:
                self._drop(k)
                replies.append(error)
        for k, reply in enumerate(replies):
            if reply is not None:
                continue
            try:
                replies[k] = self._open[k].receive()
            except errors.PliantError as error:
                self._drop(k)
                replies[k] = error
        return replies

    def _drop(self, k: int) -> None:
        stream = self._open.pop(k, None)
        if stream is not None:
            stream.close()

    def close(self) -> None:
        for stream in self._open.values():
            stream.close()
        self._open.clear()


def _name_world(error: errors.PliantError, world: World) -> errors.PliantError:
    return type(error)(f"{world.name} at {world.address}: {error.message}", code=error.code)


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
        self._streams = _Streams(timeout)
        weakref.finalize(self, self._streams.close)
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
        self._streams.close()
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
        for call, reply in zip(self._calls, self._streams.step(self._calls)):
            if isinstance(reply, errors.PliantError):
                for i in call.indices:
                    self.lost[i] = _name_world(reply, self.worlds[i])
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
