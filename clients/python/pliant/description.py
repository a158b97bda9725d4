"""The constant part of a world: bodies, robots, joints and probes, and their indices in frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence, TypeVar

import numpy as np
import numpy.typing as npt

from pliant import errors
from pliant.channel import Connection
from pliant.v1 import objects_pb2, scene_pb2, world_pb2

_T = TypeVar("_T")
_DRIVES = {0: "none", 1: "torque", 2: "position", 3: "velocity", 4: "activation"}


@dataclass(frozen=True)
class Joint:
    """A joint with one degree of freedom. `index`: its place in frames and in
    `Frame.joint_positions`."""

    robot: str
    name: str
    index: int
    is_prismatic: bool  # positions in m; otherwise in rad
    lower: float
    upper: float
    velocity_limit: float
    effort_limit: float
    drive: str  # none, torque, position, velocity or activation


class Controller(NamedTuple):
    """A differential_ik controller, which takes twists and poses, or a gripper."""

    name: str
    kind: str
    joints: tuple[str, ...]


class Robot(NamedTuple):
    name: str
    joints: tuple[Joint, ...]
    controllers: tuple[Controller, ...]
    groups: tuple[str, ...]
    has_gamepad: bool

    def joint(self, name: str) -> Joint:
        return _find(
            "joint", name, {joint.name: joint for joint in self.joints}, f'robot "{self.name}"'
        )

    def controller(self, name: str) -> Controller:
        return _find(
            "controller", name, {one.name: one for one in self.controllers}, f'robot "{self.name}"'
        )

    @property
    def driven(self) -> tuple[Joint, ...]:
        """The joints that have an actuator, in order."""
        return tuple(joint for joint in self.joints if joint.drive != "none")


@dataclass(frozen=True)
class RigidBody:
    name: str
    index: int
    motion: str  # FIXED, KINEMATIC or FREE
    message: Any  # pliant.v1.RigidDescription


@dataclass(frozen=True, eq=False)
class DeformableBody:
    """A deformable body, or one of particles, which has no triangles."""

    name: str
    index: int
    rest_positions: npt.NDArray[
        np.float32
    ]  # (n, 3), of the surface vertices in the body's frame; none of particles
    triangles: npt.NDArray[np.uint32]  # (m, 3)
    volume_vertices: npt.NDArray[
        np.uint32
    ]  # (n,): number of each surface vertex in the volume mesh, as in commands
    decimated_vertices: npt.NDArray[np.uint32]  # those that TIER_DECIMATED has; empty: all
    points: int  # number of particles; 0: it has a surface
    fields: tuple[str, ...]  # measures that frames have of it
    message: Any  # pliant.v1.DeformableDescription

    def size(self, decimated: bool) -> int:
        """Number of vertices or points in frames."""
        if decimated and len(self.decimated_vertices):
            return len(self.decimated_vertices)
        return self.points or len(self.rest_positions)


class Description:
    """Names in a world and their indices in frames."""

    def __init__(self, message: Any) -> None:
        self.message = message  # pliant.v1.WorldDescription
        self.world: str = message.name
        self.scene: str = message.scene_name
        self.model_hash: str = message.model_hash
        self.time_step: float = message.time_step
        self.gravity = np.array(message.gravity)
        self.probes: tuple[str, ...] = tuple(message.probes)
        motions = scene_pb2.RigidBody.Motion
        self.rigid: tuple[RigidBody, ...] = tuple(
            RigidBody(
                body.name,
                i,
                motions.Name(body.motion).replace("MOTION_", "").replace("UNSPECIFIED", "FREE"),
                body,
            )
            for i, body in enumerate(message.rigid_bodies)
        )
        self.deformables: tuple[DeformableBody, ...] = tuple(
            _read_deformable(i, body) for i, body in enumerate(message.deformables)
        )
        robots, at = [], 0
        for robot in message.robots:
            robots.append(_read_robot(robot, at))
            at += len(robot.joints)
        self.robots: tuple[Robot, ...] = tuple(robots)
        self.joints: tuple[Joint, ...] = tuple(joint for robot in robots for joint in robot.joints)
        self.body_names: tuple[str, ...] = (
            *(body.name for body in self.rigid),
            *(body.name for body in self.deformables),
        )
        self._rigid = {body.name: body for body in self.rigid}
        self._deformables = {body.name: body for body in self.deformables}
        self._robots = {robot.name: robot for robot in self.robots}

    def __repr__(self) -> str:
        return (
            f"<Description of {self.world}: {len(self.rigid)} rigid and {len(self.deformables)} deformable bodies, "
            f"{len(self.robots)} robots, {len(self.joints)} joints>"
        )

    @property
    def where(self) -> str:
        return self.world

    def body(self, name: str) -> Any:
        """A RigidBody or DeformableBody by its name; that of a link is robot/link."""
        bodies: dict[str, Any] = {**self._rigid, **self._deformables}
        return _find("body", name, bodies, self.where)

    def robot(self, name: str) -> Robot:
        return _find("robot", name, self._robots, self.where)

    def joint(self, name: str) -> Joint:
        """A joint by its name robot/joint."""
        robot, slash, joint = name.partition("/")
        if slash and robot in self._robots:
            return self._robots[robot].joint(joint)
        return _find(
            "joint",
            name,
            {f"{joint.robot}/{joint.name}": joint for joint in self.joints},
            self.where,
        )

    def check_body(self, name: str) -> str:
        return str(self.body(name).name)

    def check_probe(self, name: str) -> str:
        if name not in self.probes:
            raise errors.unknown_name("probe", name, self.probes, f'scene "{self.scene}"')
        return name

    def check_target(self, name: str) -> str:
        """Raises unless this is a target of leases: a body, a robot or robot/group."""
        groups = {f"{robot.name}/{group}" for robot in self.robots for group in robot.groups}
        links = {f"{robot.name}/" for robot in self.robots}
        bodies = {
            body for body in self.body_names if not any(body.startswith(link) for link in links)
        }
        known = bodies | set(self._robots) | groups
        if name not in known:
            raise errors.unknown_name("body or robot", name, known, self.where)
        return name


def _find(kind: str, name: str, known: Mapping[str, _T], where: str) -> _T:
    if name in known:
        return known[name]
    raise errors.unknown_name(kind, name, known, where)


def _read_robot(message: Any, first: int) -> Robot:
    infinity = float("inf")

    def limit(joint: Any, field: str, otherwise: float) -> float:
        return float(getattr(joint, field)) if joint.HasField(field) else otherwise

    joints = tuple(
        Joint(
            message.name,
            joint.name,
            first + i,
            joint.is_prismatic,
            limit(joint, "lower", -infinity),
            limit(joint, "upper", infinity),
            limit(joint, "velocity_limit", infinity),
            limit(joint, "effort_limit", infinity),
            _DRIVES.get(joint.drive, "none"),
        )
        for i, joint in enumerate(message.joints)
    )
    kinds = world_pb2.ControllerDescription.Kind
    controllers = tuple(
        Controller(one.name, kinds.Name(one.kind).replace("KIND_", "").lower(), tuple(one.joints))
        for one in message.controllers
    )
    return Robot(
        message.name,
        joints,
        controllers,
        tuple(group.name for group in message.groups),
        message.has_gamepad,
    )


def _read_deformable(index: int, message: Any) -> DeformableBody:
    return DeformableBody(
        message.name,
        index,
        np.array(message.surface.vertices, np.float32).reshape(-1, 3),
        np.array(message.surface.indices, np.uint32).reshape(-1, 3),
        np.array(message.surface_to_volume, np.uint32),
        np.array(message.decimated_vertices, np.uint32),
        message.points.count,
        tuple(field_names(message.fields)),
        message,
    )


def field_names(measures: Iterable[int]) -> list[str]:
    """
    >>> field_names([1, 9])
    ['VON_MISES_STRAIN', 'VELOCITY']
    """
    return [name_of_field(measure) for measure in measures]


def name_of_field(measure: int) -> str:
    try:
        return str(scene_pb2.FieldMeasure.Name(measure)).replace("FIELD_MEASURE_", "")
    except ValueError:  # of a newer server
        return f"MEASURE_{measure}"


def number_of_field(name: str) -> int:
    """
    >>> number_of_field("VELOCITY")
    9
    >>> number_of_field("STRAIN")
    Traceback (most recent call last):
    ...
    pliant.errors.UnknownName: Pliant has no field "STRAIN"; did you mean "GREEN_STRAIN"? ...
    """
    known = [
        key.replace("FIELD_MEASURE_", "")
        for key in scene_pb2.FieldMeasure.keys()
        if not key.endswith("UNSPECIFIED")
    ]
    if name not in known:
        raise errors.unknown_name("field", name, known, "Pliant")
    return int(scene_pb2.FieldMeasure.Value(f"FIELD_MEASURE_{name}"))


class Descriptions:
    """Fetches descriptions: their pages, and bodies that are objects, which are cached by hash."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._objects: dict[str, bytes] = {}
        self._known: dict[tuple[str, str], Description] = {}

    def fetch(self, name: str, model_hash: str) -> Description:
        known = self._known.get((name, model_hash))
        if known is not None:
            return known
        whole: Any = None
        token = ""
        while whole is None or token:
            request = world_pb2.DescribeWorldRequest(
                name=name, page_token=token, bodies_as_objects=True
            )
            page = self._connection.call(
                "WorldService/DescribeWorld", request, timeout=60, repeat=True
            )
            if whole is None:
                whole = page
            else:
                whole.MergeFrom(page)  # repeated fields are one list
            token = page.next_page_token
        self._fill(whole.rigid_bodies, world_pb2.RigidDescription.FromString)
        self._fill(whole.deformables, world_pb2.DeformableDescription.FromString)
        description = Description(whole)
        if len(self._known) >= 256:
            self._known.clear()
        self._known[name, description.model_hash] = description
        return description

    def _fill(self, bodies: Sequence[Any], parse: Callable[[bytes], Any]) -> None:
        for body in bodies:
            if not body.HasField("object"):
                continue
            name = body.name
            body.CopyFrom(parse(self._object(body.object.sha256, body.object.size)))
            body.name = name

    def _object(self, sha256: str, size: int) -> bytes:
        if sha256 not in self._objects:
            data = bytearray()
            while len(data) < size:
                request = objects_pb2.FetchObjectRequest(sha256=sha256, offset=len(data))
                chunk = self._connection.call(
                    "ObjectService/FetchObject", request, timeout=60, repeat=True
                ).data
                if not chunk:
                    raise errors.DataLoss(
                        f"object {sha256}: ends after {len(data)} of {size} bytes; describe the world again"
                    )
                data += chunk
            self._objects[sha256] = bytes(data)
        return self._objects[sha256]
