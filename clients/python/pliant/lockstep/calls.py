"""Calls that step many worlds at the same time, one for each server."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence, Union

import grpc

from pliant import errors
from pliant.frames import probe_value
from pliant.v1 import world_pb2
from pliant.world import Commands, Samples, World, make_step_request

_METHOD = "WorldService/StepWorlds"
_MAX_WORLDS = 256  # in one call


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
            results += [(i, name_world(reply, worlds[i])) for i in call.indices]
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


def name_world(error: errors.PliantError, world: World) -> errors.PliantError:
    return type(error)(f"{world.name} at {world.address}: {error.message}", code=error.code)
