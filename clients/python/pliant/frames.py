"""Decoded frames: numpy views of the received bytes."""

from __future__ import annotations

import copy
from typing import Any, Iterator, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from pliant import errors
from pliant.description import Description, name_of_field

_FLOAT32, _FLOAT64, _COMPACT = 1, 2, 3  # pliant.v1.Precision
_POSITIONS: dict[int, Any] = {_FLOAT32: np.dtype("<f4"), _FLOAT64: np.dtype("<f8")}
_FIELDS: dict[int, Any] = {**_POSITIONS, _COMPACT: np.dtype("u1")}
_INT16, _UINT16 = np.dtype("<i2"), np.dtype("<u2")
Floats = npt.NDArray[np.floating[Any]]


class WrongModel(Exception):
    """The frame does not match the description: it belongs to another model."""


class Field:
    """A field of a deformable body at its vertices or points."""

    def __init__(self, message: Any) -> None:
        self.measure = name_of_field(message.measure)
        self.unit: str = message.unit
        self.min: float = message.min
        self.max: float = message.max
        self.components: int = message.components or 1
        dtype: np.dtype[Any] = _FIELDS.get(message.precision, _UINT16)
        raw = np.frombuffer(message.values, dtype)
        self.raw = (
            raw if self.components == 1 else raw.reshape(-1, self.components)
        )  # a view, read-only

    @property
    def values(self) -> Floats:
        """(n,) or (n, components), in `unit`: a view if the values are floats, otherwise min + (max
        − min) · raw / R with the largest value R of raw's type, as float32."""
        if self.raw.dtype.kind == "f":
            return np.asarray(self.raw)
        scale = (self.max - self.min) / np.iinfo(self.raw.dtype).max
        values: Floats = np.multiply(self.raw, np.float32(scale), dtype=np.float32)
        values += np.float32(self.min)
        return values


class RigidState(NamedTuple):
    """The pose of a rigid body in the world."""

    name: str
    position: npt.NDArray[np.float64]  # [m]
    quaternion: npt.NDArray[np.float64]  # w, x, y, z


class DeformableState:
    """Surface vertices of a deformable body, or points of a body of particles."""

    def __init__(self, name: str, message: Any) -> None:
        self.name = name
        self.decimated: bool = message.tier == 1
        dtype: np.dtype[Any] = _POSITIONS.get(message.precision, _INT16)
        self.raw = np.frombuffer(message.positions, dtype).reshape(-1, 3)  # a view, read-only
        self.origin = np.array(message.origin, np.float64)
        self.scale = np.array(message.scale, np.float64)
        self.fields: dict[str, Field] = {}
        self._positions: Optional[Floats] = None

    @property
    def positions(self) -> Floats:
        """(n, 3) in the world frame [m]: a view if they are floats, otherwise origin + scale · raw
        as float32."""
        if self._positions is None:
            if self.raw.dtype.kind == "f":
                self._positions = self.raw
            else:
                self._positions = np.multiply(
                    self.raw, self.scale.astype(np.float32), dtype=np.float32
                )
                self._positions += self.origin.astype(np.float32)
        return self._positions

    def field(self, measure: str) -> Floats:
        """Values of a subscribed field."""
        if measure not in self.fields:
            raise errors.unknown_name("field", measure, self.fields, f'the frame of "{self.name}"')
        return self.fields[measure].values


class Contacts(NamedTuple):
    """Contact points, in the order of the step report. `a` and `b`: names of the bodies."""

    a: tuple[str, ...]
    b: tuple[str, ...]
    positions: npt.NDArray[np.float32]  # (n, 3) [m]
    normals: npt.NDArray[np.float32]  # (n, 3), from a into b
    forces: npt.NDArray[np.float32]  # (n, 3), on b, world frame [N]
    gaps: npt.NDArray[np.float32]  # (n,) [m]


class ContactForce(NamedTuple):
    """Total contact force on a body."""

    force: npt.NDArray[np.float64]  # world frame [N]
    torque: npt.NDArray[np.float64]  # about its centre of mass [N·m]
    contacts: int


class Frame:
    """State of a world, with all subscribed bodies: those that the server left out, because they
    did not move, are as in the frame before. `frame["ball"]` is the state of a body by its name."""

    def __init__(self, message: Any, description: Description, bodies: dict[str, Any]) -> None:
        self.message = message  # pliant.v1.Frame
        self.description = description
        self._bodies = bodies

    number = property(lambda self: self.message.frame)
    step = property(lambda self: self.message.step)
    time = property(lambda self: self.message.time)  # [s]
    epoch = property(lambda self: self.message.epoch)  # increases at every reset or restore
    is_keyframe = property(lambda self: self.message.keyframe)
    is_stopped = property(lambda self: self.message.stopped)  # the latched stop is on
    report = property(lambda self: self.message.report)

    def __repr__(self) -> str:
        return f"<Frame {self.number} of {self.description.world}: step {self.step}, {self.time:.6g} s, {len(self._bodies)} bodies>"

    def __getitem__(self, body: str) -> Any:
        try:
            return self._bodies[body]
        except KeyError:
            self.description.check_body(body)
            raise errors.unknown_name("body", body, self._bodies, "the frame") from None

    def __contains__(self, body: object) -> bool:
        return body in self._bodies

    def __iter__(self) -> Iterator[str]:
        return iter(self._bodies)

    def __len__(self) -> int:
        return len(self._bodies)

    @property
    def fault(self) -> str:
        """Why the world was paused; empty if it has no fault."""
        return str(self.message.fault.reason) if self.message.HasField("fault") else ""

    @property
    def joint_positions(self) -> npt.NDArray[np.float64]:
        """Positions of all joints, in the order of `description.joints` [rad], [m]."""
        return np.array(self.message.joints.positions, np.float64)

    @property
    def joint_velocities(self) -> npt.NDArray[np.float64]:
        return np.array(self.message.joints.velocities, np.float64)

    @property
    def joint_targets(self) -> npt.NDArray[np.float64]:
        return np.array(self.message.joints.targets, np.float64)

    @property
    def joint_efforts(self) -> npt.NDArray[np.float64]:
        return np.array(self.message.joints.efforts, np.float64)

    @property
    def contacts(self) -> Contacts:
        message, names = self.message.contacts, self.description.body_names
        vectors = (
            np.array(each, np.float32).reshape(-1, 3)
            for each in (message.positions, message.normals, message.forces)
        )
        positions, normals, forces = vectors
        return Contacts(
            tuple(names[i] for i in message.bodies[::2]),
            tuple(names[i] for i in message.bodies[1::2]),
            positions,
            normals,
            forces,
            np.array(message.gaps, np.float32),
        )

    @property
    def contact_forces(self) -> dict[str, ContactForce]:
        """Forces on the bodies in contact, by name."""
        message, names = self.message.forces, self.description.body_names
        forces, torques = (
            np.array(each).reshape(-1, 3) for each in (message.forces, message.torques)
        )
        return {
            names[body]: ContactForce(forces[i], torques[i], message.contacts[i])
            for i, body in enumerate(message.bodies)
        }

    @property
    def probes(self) -> dict[str, npt.NDArray[np.float64]]:
        """Samples of the subscribed probes, by name."""
        return {self.description.probes[one.probe]: probe_value(one) for one in self.message.probes}

    @property
    def holders(self) -> dict[str, str]:
        """Client that holds the lease of each driven target."""
        return {echo.target: echo.client for echo in self.message.commands}


def probe_value(message: Any) -> npt.NDArray[np.float64]:
    """The numbers of a sample, with one row per contact point for lists of these."""
    if message.rows:
        return np.array([row.value for row in message.rows], np.float64)
    return np.array(message.values, np.float64)


class Decoder:
    """Completes the frames of a stream with the parts that they leave out."""

    def __init__(self, description: Description) -> None:
        self.description = description
        self._bodies: dict[str, Any] = {}
        self._epoch = -1

    def decode(self, message: Any) -> Frame:
        """Raises WrongModel if the frame does not match the description."""
        description = self.description
        if message.epoch != self._epoch:  # states from before and after a reset must not be mixed
            self._bodies, self._epoch = {}, message.epoch
        bodies = dict(self._bodies)
        for rigid in message.rigid:
            if rigid.body >= len(description.rigid) or len(rigid.pose) != 7:
                raise WrongModel(f"rigid body {rigid.body}")
            pose = np.array(rigid.pose)
            name = description.rigid[rigid.body].name
            bodies[name] = RigidState(name, pose[:3], pose[3:])
        for soft in message.deformables:
            state = self._deformable(soft)
            bodies[state.name] = state
        self._take_fields(message, bodies)
        self._bodies = bodies
        return Frame(message, description, bodies)

    def _deformable(self, message: Any) -> DeformableState:
        known = self.description.deformables
        if message.body >= len(known):
            raise WrongModel(f"deformable body {message.body}")
        body = known[message.body]
        width = {_FLOAT32: 12, _FLOAT64: 24}.get(message.precision, 6)
        if len(message.positions) != width * body.size(message.tier == 1):
            raise WrongModel(f"{body.name}: {len(message.positions)} bytes of positions")
        state = DeformableState(body.name, message)
        before = self._bodies.get(body.name)
        if before is not None:  # fields that have not changed are left out
            state.fields = dict(before.fields)
        return state

    def _take_fields(self, message: Any, bodies: dict[str, Any]) -> None:
        for one in message.fields:
            if one.body >= len(self.description.deformables):
                raise WrongModel(f"field of deformable body {one.body}")
            name = self.description.deformables[one.body].name
            if name not in bodies:
                continue
            state: Any = bodies[name]
            # a frame that was handed out must not change
            if name in self._bodies and state is self._bodies[name]:
                state = bodies[name] = copy.copy(state)
                state.fields = dict(state.fields)
            field = Field(one)
            state.fields[field.measure] = field
