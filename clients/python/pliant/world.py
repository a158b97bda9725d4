"""A world on a server."""

from __future__ import annotations

import hashlib
import os
import pathlib
import socket
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from pliant import errors, scene_files
from pliant.channel import Connection
from pliant.commands import Command
from pliant.description import Description, Descriptions, number_of_field
from pliant.driving import Lease
from pliant.frames import Decoder, Frame, WrongModel, probe_value
from pliant.recordings import Recording
from pliant.subscription import Subscription, make_subscription
from pliant.v1 import checkpoint_pb2, control_pb2, record_pb2, scene_pb2, state_pb2, world_pb2

Commands = Mapping[str, Union[Command, Sequence[Command]]]
Samples = dict[str, npt.NDArray[np.float64]]
_CHUNK = 3 << 20


class Step(NamedTuple):
    """Result of a request to step. `report`: pliant.v1.StepReport of the last step; `probes`:
    samples after it."""

    step: int
    time: float
    state_hash: str
    report: Any
    probes: Samples
    frame: Optional[Frame]
    waited_for: int  # requests of other clients that were served before this one


class Checkpoint(NamedTuple):
    """A saved state: `name` if the server keeps it, otherwise `state` with its bytes."""

    name: str
    step: int
    time: float
    state_hash: str
    size: int
    is_automatic: bool = False
    state: bytes = b""


def world_name(name: str) -> str:
    """
    >>> world_name("demo"), world_name("worlds/demo")
    ('worlds/demo', 'worlds/demo')
    """
    return name if name.startswith("worlds/") else f"worlds/{name}"


def make_step_request(
    description: Description, steps: int, commands: Optional[Commands], probes: Sequence[str]
) -> Any:
    if steps < 1:
        raise errors.InvalidRequest(f"steps: {steps} is not allowed; expected 1 or more")
    request = world_pb2.StepWorldRequest(
        name=description.world,
        steps=steps,
        probes=[description.check_probe(name) for name in probes],
    )
    for target, given in (commands or {}).items():
        for command in (given,) if isinstance(given, Command) else given:
            command.message(description, target).write(request.commands.add(target=target))
    return request


class World:
    """A world, by its name. Thread-safe."""

    def __init__(self, connection: Connection, descriptions: Descriptions, message: Any) -> None:
        self._connection = connection
        self._descriptions = descriptions
        self.name: str = message.name
        self._model_hash: str = message.model_hash
        # only the reply to CreateWorld has what the server corrected or ignored
        self.warnings: tuple[str, ...] = tuple(message.warnings)

    @property
    def id(self) -> str:
        return self.name.split("/", 1)[1]

    @property
    def address(self) -> str:
        """Address of its server."""
        return self._connection.address

    def __repr__(self) -> str:
        return f"<World {self.name} at {self.address}>"

    # --- identity ---------------------------------------------------------------------------------

    @property
    def info(self) -> Any:
        """pliant.v1.World: step, time, clock, state_hash, labels, owner, fault and more, now."""
        return self._call("GetWorld", world_pb2.GetWorldRequest(name=self.name), repeat=True)

    @property
    def description(self) -> Description:
        """Bodies, robots, joints and probes; fetched once for each model."""
        return self._descriptions.fetch(self.name, self._model_hash)

    def refresh(self) -> Description:
        """The description of the world that has the name now, after a reconnection."""
        self._model_hash = self.info.model_hash
        return self.description

    @property
    def time(self) -> float:
        return float(self.info.time)

    @property
    def state_hash(self) -> str:
        return str(self.info.state_hash)

    @property
    def fault(self) -> str:
        """Why the world was paused; empty if it has no fault."""
        return str(self.info.fault.reason)

    # --- clock ------------------------------------------------------------------------------------

    def step(
        self,
        steps: int = 1,
        *,
        commands: Optional[Commands] = None,
        probes: Sequence[str] = (),
        frame: bool = False,
        bodies: Sequence[str] = (),
        fields: Sequence[str] = (),
        contacts: bool = False,
        precision: str = "",
        decimated: bool = False,
        timeout: Optional[float] = None,
    ) -> Step:
        """Steps the world. `commands`, by target, hold through these steps and end with them, so
        equal requests from equal states give equal states. `frame` asks for a frame of the last
        step. The call is never repeated automatically."""
        description = self.description
        request = make_step_request(description, steps, commands, probes)
        if frame or bodies or fields or contacts:
            request.frame.CopyFrom(
                make_subscription(
                    description,
                    bodies=bodies,
                    fields=fields,
                    contacts=contacts,
                    precision=precision,
                    decimated=decimated,
                )
            )
        return self._read_step(self._call("StepWorld", request, timeout=timeout))

    def _read_step(self, response: Any) -> Step:
        frame = None
        if response.HasField("frame"):
            try:
                frame = Decoder(self.description).decode(response.frame)
            except WrongModel:  # the world has another scene now: describe it again, once
                frame = Decoder(self.refresh()).decode(response.frame)
        return Step(
            response.step,
            response.time,
            response.state_hash,
            response.report,
            {one.name: probe_value(one) for one in response.probes},
            frame,
            response.waited_for,
        )

    def pause(self) -> None:
        self._call("SetClock", world_pb2.SetClockRequest(name=self.name, paused=state_pb2.Paused()))

    def run(self, speed: Optional[float] = 1.0) -> None:
        """Runs the clock: `speed` simulated seconds per second; None: as fast as possible."""
        request = world_pb2.SetClockRequest(name=self.name)
        if speed is None:
            request.free_run.SetInParent()
        elif speed > 0:
            request.real_time.factor = speed
        else:
            raise errors.InvalidRequest(
                f"speed: {speed} is not allowed; expected a number above 0, None for as fast as it can, or "
                "call pause()"
            )
        self._call("SetClock", request)

    def reset(self) -> None:
        """Returns to the initial state, at time zero."""
        self._call("ResetWorld", world_pb2.ResetWorldRequest(name=self.name), timeout=60)

    def stop(self) -> None:
        """Stops all commanded motion; latched until `resume`."""
        self._connection.call(
            "ControlService/StopWorld", control_pb2.StopWorldRequest(world=self.name)
        )

    def resume(self) -> None:
        self._connection.call(
            "ControlService/ResumeWorld", control_pb2.ResumeWorldRequest(world=self.name)
        )

    # --- probes and frames ------------------------------------------------------------------------

    def probe(
        self,
        name: str = "",
        *,
        position: bool = False,
        velocity: bool = False,
        orientation: bool = False,
        angular_velocity: bool = False,
        contact_force: bool = False,
        wrench: bool = False,
        volume: bool = False,
        point: Optional[Sequence[float]] = None,
        vertex: Optional[int] = None,
        against: str = "",
        field: str = "",
        reduce: str = "MAX",
        quantity: str = "",
    ) -> npt.NDArray[np.float64]:
        """A sample now, of a probe of the scene by its name, or of a body, link (robot/link) or
        joint (robot/joint).

            world.probe("height")                # the scene's probe
            world.probe("ball", position=True)   # centre of mass; or vertex=I, or point=(x, y, z)
            world.probe("ball", contact_force=True, against="table")
            world.probe("ball", field="VON_MISES_STRAIN", reduce="MAX")
            world.probe("arm/elbow", quantity="POSITION")   # or VELOCITY, EFFORT
        """
        kinds = {
            "position": position,
            "velocity": velocity,
            "orientation": orientation,
            "angular_velocity": angular_velocity,
            "contact_force": contact_force,
            "wrench": wrench,
            "volume": volume,
            "field": bool(field),
            "joint": bool(quantity),
        }
        chosen = [kind for kind, given in kinds.items() if given]
        if len(chosen) > 1:
            raise errors.InvalidRequest(
                f"probe: {' and '.join(chosen)} are both given; expected one of them"
            )
        if not chosen:
            return next(iter(self.probes([name] if name else []).values()))
        probe = scene_pb2.Probe()
        if field:
            probe.field.body = self.description.check_body(name)
            probe.field.measure = number_of_field(field)  # type: ignore[assignment]
            probe.field.reduce = _enum(scene_pb2.FieldProbe.Reduce, "REDUCE", reduce)
        elif quantity:
            joint = self.description.joint(name)
            probe.joint.robot, probe.joint.joint = joint.robot, joint.name
            probe.joint.quantity = _enum(scene_pb2.JointProbe.Quantity, "QUANTITY", quantity)
        else:
            body = getattr(probe, chosen[0])
            body.SetInParent()
            is_link = "/" in name and chosen[0] in ("position", "velocity")
            setattr(body, "link" if is_link else "body", self.description.check_body(name))
            if point is not None:
                body.point.extend(point)
            elif is_link:
                body.point.extend((0, 0, 0))
            if vertex is not None:
                body.vertex = vertex
            if against:
                setattr(body, "with", self.description.check_body(against))
        return self.sample([probe])[0]

    def probes(self, names: Sequence[str] = ()) -> Samples:
        """Samples of the scene's probes now; of all if no names are given."""
        request = world_pb2.ProbeWorldRequest(
            name=self.name, probes=[self.description.check_probe(name) for name in names]
        )
        response = self._call("ProbeWorld", request, repeat=True)
        return {one.name: probe_value(one) for one in response.probes}

    def sample(self, definitions: Sequence[Any]) -> list[npt.NDArray[np.float64]]:
        """Samples of any probes that a scene may have (pliant.v1.Probe), now."""
        request = world_pb2.ProbeWorldRequest(name=self.name, definitions=definitions)
        return [probe_value(one) for one in self._call("ProbeWorld", request, repeat=True).probes]

    def subscribe(
        self,
        callback: Optional[Callable[[Frame], Any]] = None,
        *,
        rate: float = 0,
        bodies: Sequence[str] = (),
        fields: Sequence[str] = (),
        contacts: bool = False,
        probes: Sequence[str] = (),
        precision: str = "",
        decimated: bool = False,
        rates: Optional[Mapping[str, float]] = None,
    ) -> Subscription:
        """A stream of frames; see Subscription. `precision`: float32, float64 or compact."""

        def choose(description: Description) -> Any:
            return make_subscription(
                description,
                rate=rate,
                bodies=bodies,
                fields=fields,
                contacts=contacts,
                probes=probes,
                precision=precision,
                decimated=decimated,
                rates=rates,
            )

        return Subscription(self._connection, self.refresh, choose, callback)

    def frames(self, **choice: Any) -> Subscription:
        """The frames of the world, to iterate over: `for frame in
        world.frames(fields=["VON_MISES_STRAIN"]): …`. Takes the arguments of `subscribe`."""
        return self.subscribe(**choice)

    # --- leases -----------------------------------------------------------------------------------

    def lease(
        self,
        target: str,
        *,
        takeover: bool = False,
        priority: int = 0,
        client: str = "",
        on_lost: Optional[Callable[[str], Any]] = None,
    ) -> Lease:
        """The right to command a body, a robot or an actuator group (robot/group); see Lease."""
        return Lease(
            self._connection,
            lambda: self.description,
            target,
            takeover=takeover,
            priority=priority,
            on_lost=on_lost,
            client=client or f"python {os.getpid()} on {socket.gethostname()}",
        )

    # --- states -----------------------------------------------------------------------------------

    def checkpoint(self, checkpoint_id: str = "") -> Checkpoint:
        """Saves the present state: on the server under an id (durable worlds), or in the result."""
        request = world_pb2.CheckpointWorldRequest(
            name=self.name, checkpoint_id=checkpoint_id, in_chunks=not checkpoint_id
        )
        response = self._call("CheckpointWorld", request, timeout=60)
        if checkpoint_id:
            return _read_checkpoint(response.checkpoint)
        state = response.state or self._fetch_state("", response.handle)
        world = self.info
        return Checkpoint("", world.step, world.time, response.state_hash, len(state), state=state)

    def checkpoints(self) -> list[Checkpoint]:
        request = checkpoint_pb2.ListCheckpointsRequest(world=self.name)
        return [
            _read_checkpoint(one)
            for one in self._call("ListCheckpoints", request, repeat=True).checkpoints
        ]

    def fetch_checkpoint(self, checkpoint: Union[str, Checkpoint]) -> bytes:
        """Bytes of a checkpoint that the server keeps."""
        return self._fetch_state(self._checkpoint_name(checkpoint), "")

    def delete_checkpoint(self, checkpoint: Union[str, Checkpoint]) -> None:
        self._call(
            "DeleteCheckpoint",
            checkpoint_pb2.DeleteCheckpointRequest(name=self._checkpoint_name(checkpoint)),
        )

    def restore(self, checkpoint: Union[str, bytes, Checkpoint]) -> None:
        """Restores a checkpoint by its name, or the bytes of a state of the same model."""
        request = world_pb2.RestoreWorldRequest(name=self.name)
        state = (
            checkpoint
            if isinstance(checkpoint, bytes)
            else checkpoint.state
            if isinstance(checkpoint, Checkpoint)
            else b""
        )
        if not state:
            request.checkpoint = self._checkpoint_name(checkpoint)  # type: ignore[arg-type]
        elif len(state) <= _CHUNK:
            request.state = state
        else:
            request.sha256 = hashlib.sha256(state).hexdigest()
            scene_files.upload(self._connection, state, request.sha256)
        self._call("RestoreWorld", request, timeout=60)

    def fork(self, world_id: str = "") -> "World":
        """Creates another world in the same state."""
        message = self._call(
            "ForkWorld", world_pb2.ForkWorldRequest(name=self.name, world_id=world_id), timeout=60
        )
        return World(self._connection, self._descriptions, message)

    def delete(self) -> None:
        self._call("DeleteWorld", world_pb2.DeleteWorldRequest(name=self.name), timeout=60)

    def record(
        self, recording_id: str = "", *, rate: float = 0, max_bytes: int = 0, **choice: Any
    ) -> Recording:
        """Starts a recording. With a `rate` it has frames, chosen by the arguments of
        `subscribe`."""
        request = record_pb2.StartRecordingRequest(
            world=self.name, recording_id=recording_id, max_bytes=max_bytes
        )
        if rate > 0 or choice:
            request.frames.CopyFrom(make_subscription(self.description, rate=rate, **choice))
        return Recording(
            self._connection,
            self._connection.call("RecordService/StartRecording", request, timeout=60),
        )

    # --- calls ------------------------------------------------------------------------------------

    def _call(self, method: str, request: Any, **how: Any) -> Any:
        return self._connection.call(f"WorldService/{method}", request, **how)

    def _checkpoint_name(self, checkpoint: Union[str, Checkpoint]) -> str:
        name = checkpoint.name if isinstance(checkpoint, Checkpoint) else checkpoint
        return name if name.startswith("worlds/") else f"{self.name}/checkpoints/{name}"

    def _fetch_state(self, name: str, handle: str) -> bytes:
        state, size = b"", -1
        while len(state) != size:
            request = checkpoint_pb2.FetchCheckpointRequest(
                name=name, offset=len(state), handle=handle
            )
            chunk = self._call("FetchCheckpoint", request, timeout=60, repeat=True)
            if not chunk.data:
                break
            state, size, handle = state + chunk.data, chunk.size, chunk.handle or handle
        return state


def _read_checkpoint(message: Any) -> Checkpoint:
    return Checkpoint(
        message.name,
        message.step,
        message.time,
        message.state_hash,
        message.size,
        message.automatic,
    )


def _enum(kind: Any, prefix: str, name: str) -> Any:
    known = [
        key.replace(f"{prefix}_", "") for key in kind.keys() if not key.endswith("UNSPECIFIED")
    ]
    if name not in known:
        raise errors.unknown_name(prefix.lower(), name, known, "Pliant")
    return kind.Value(f"{prefix}_{name}")


def load_scene(
    scene: Union[str, "os.PathLike[str]", None], scene_yaml: Optional[str]
) -> tuple[str, str, pathlib.Path]:
    """Text, file name and folder of a scene given as a file or as text."""
    if scene_yaml is not None:
        return scene_yaml, "", pathlib.Path.cwd()
    assert scene is not None
    path = pathlib.Path(scene)
    return scene_files.read_file(path).decode("utf-8", "replace"), str(path), path.resolve().parent
