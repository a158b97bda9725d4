"""Worlds of a task on one or more servers, stepped with one call for each server."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from pliant import errors
from pliant.commands import within
from pliant.envs.task import SCENES, Floats, Judgement, Readings, Task
from pliant.frames import probe_value
from pliant.lockstep import call_worlds, plan_calls
from pliant.server import Server, connect
from pliant.v1 import stream_pb2, world_pb2
from pliant.world import World

_IDLE_TIMEOUT = 3600.0  # [s]; worlds of a job that was killed are deleted


class Outcome(NamedTuple):
    """Result of an action, or of the start of an episode, in one world."""

    observation: Floats
    judgement: Judgement
    info: dict[str, Any]
    fault: str  # why the world was paused; empty if it was not


class Group:
    """Worlds of a task. `lost` has the errors of lost worlds; the others continue."""

    def __init__(
        self,
        task: Task,
        count: int,
        servers: Union[str, Sequence[str], None],
        options: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self.task = task
        self.low, self.high = -np.ones(len(task.actions)), np.ones(len(task.actions))
        self.lost: dict[int, errors.PliantError] = {}
        addresses = [servers] if servers is None or isinstance(servers, str) else list(servers)
        if not addresses:
            raise errors.InvalidRequest(
                "servers: none are given; expected one or more addresses HOST:PORT"
            )
        self._servers: list[Server] = []
        self.worlds: list[World] = []
        try:
            for address in addresses:
                self._servers.append(connect(address, **(options or {})))
            text = task.text()
            last: Optional[Server] = None
            for i in range(count):
                server = self._servers[i * len(self._servers) // count]
                if server is last:
                    world = self.worlds[-1].fork()  # no scene is read again
                else:
                    world = server.create_world(
                        scene_yaml=text,
                        folder=SCENES,
                        idle_timeout=_IDLE_TIMEOUT,
                        labels={"task": type(task).__name__},
                    )
                self.worlds.append(world)
                last = server
        except BaseException:
            self.close()
            raise
        self._episodes: list[Any] = [None] * count
        self._last: list[Optional[Outcome]] = [None] * count
        self._frame = stream_pb2.Subscription(bodies=[task.frame_body])

    def check(self, action: Any, place: str = "action") -> Floats:
        """Raises ActionError for a wrong shape, NaN, or a number out of [-1, 1]."""
        return within(place, action, self.low, self.high)

    def step(
        self, actions: Mapping[int, Floats], starts: Mapping[int, np.random.Generator]
    ) -> dict[int, Outcome]:
        """Takes an action in some worlds and starts an episode in others, with one call per server.
        The result leaves out lost worlds."""
        requests: dict[int, Any] = {}
        for i, random in starts.items():
            self._episodes[i] = self.task.start(random)
            if i in self.lost:
                continue
            try:
                self.worlds[i].reset()
            except errors.PliantError as error:
                self.lost[i] = error
                continue
            requests[i] = self._request(i, self.task.settling_steps)
            self.task.settle(self._episodes[i], requests[i])
        for i, action in actions.items():
            if i not in self.lost:
                requests[i] = self._request(i, self.task.steps)
                self.task.command(action, requests[i])
        calls = plan_calls(self.worlds, sorted(requests))
        for call in calls:
            call.message.requests.extend(requests[i] for i in call.indices)
        outcomes = {}
        for i, reply in call_worlds(self.worlds, calls, None) if calls else ():
            outcome = self._read(i, reply)
            if outcome is not None:
                outcomes[i] = self._last[i] = outcome
        return outcomes

    def last(self, index: int) -> Optional[Outcome]:
        return self._last[index]

    def close(self) -> None:
        for i, world in enumerate(self.worlds):
            if i not in self.lost:
                try:
                    world.delete()
                except errors.PliantError:
                    pass  # it is deleted by its time-out
        self.worlds = []
        for server in self._servers:
            server.close()

    def _request(self, index: int, steps: int) -> Any:
        return world_pb2.StepWorldRequest(
            name=self.worlds[index].name,
            steps=steps,
            probes=self.task.read_probes,
            frame=self._frame,
        )

    def _read(self, index: int, reply: Any) -> Optional[Outcome]:
        if isinstance(reply, errors.PliantError):
            return self._fail(index, reply)
        joints = reply.frame.joints
        readings = Readings(
            np.array(joints.positions),
            np.array(joints.velocities),
            {one.name: probe_value(one) for one in reply.probes},
        )
        episode = self._episodes[index]
        judgement = self.task.judge(readings, episode)
        info = {
            "state_hash": reply.state_hash,
            "step": reply.step,
            "time": reply.time,
            "is_success": judgement.is_success,
        }
        return Outcome(self.task.observe(readings, episode), judgement, info, "")

    def _fail(self, index: int, error: errors.PliantError) -> Optional[Outcome]:
        """Ends the episode of a world with a fault. After any other error the world is lost."""
        fault = ""
        last = self._last[index]
        try:
            fault = self.worlds[index].fault if last is not None else ""
        except errors.PliantError:
            pass
        if not fault or last is None:
            self.lost[index] = error
            return None
        info = {**last.info, "fault": fault, "is_success": False}
        return Outcome(last.observation, Judgement(0.0, False, False), info, fault)
