"""Commands to bodies and robots. Shapes, and that numbers are finite, are checked at once.

`Command.message` checks names of joints and controllers; the methods that send commands call it.
"""

from __future__ import annotations

import math
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from pliant import errors
from pliant.description import Description, Robot
from pliant.v1 import control_pb2

Vector = Union[Sequence[float], npt.NDArray[Any]]
Targets = Union[Mapping[str, float], Vector]


class Command(NamedTuple):
    """A command without its target. Made by the functions below."""

    kind: str  # name of the field of CommandRequest and TargetCommand
    body: Any  # its message
    controller: str = ""
    order: bool = False  # one value for each driven joint, whose names `message` fills in

    def message(self, description: Description, target: str) -> "Command":
        """The command for a target, with its names checked and filled in."""
        description.check_target(target)
        if self.kind == "gamepad" or not (
            self.kind in ("joint_targets", "gains", "gripper") or self.controller
        ):
            return self
        robot = description.robot(target.partition("/")[0])
        if self.controller:
            robot.controller(self.controller)
        if self.kind == "gripper":
            robot.controller(self.body.controller)
        if self.kind not in ("joint_targets", "gains"):
            return self
        if self.order:
            return self._name_joints(robot)
        for joint in self.body.joints:
            robot.joint(joint)
        return self

    def _name_joints(self, robot: Robot) -> "Command":
        joints = [joint.name for joint in robot.driven]
        count = len(self.body.values)
        if count != len(joints):
            raise errors.ActionError(
                f"{self.kind}: {count} numbers are not allowed; expected {len(joints)}, one for each driven joint of robot "
                f'"{robot.name}": {", ".join(joints)}',
                place=self.kind,
            )
        body = control_pb2.JointTargets(joints=joints, values=self.body.values)
        return Command(self.kind, body, self.controller)

    def write(self, message: Any) -> Any:
        """Fills in a CommandRequest or a TargetCommand."""
        getattr(message, self.kind).CopyFrom(self.body)
        message.controller = self.controller
        return message


def finite(place: str, values: Any, count: Optional[int] = None) -> list[float]:
    """A list of finite numbers.

    >>> finite("linear", (0, 0, 1), 3)
    [0.0, 0.0, 1.0]
    >>> finite("linear", [0, float("nan"), 1])
    Traceback (most recent call last):
    ...
    pliant.errors.ActionError: linear[1]: nan is not allowed; expected a finite number
    >>> finite("linear", [0, 1], 3)
    Traceback (most recent call last):
    ...
    pliant.errors.ActionError: linear: the shape (2,) is not allowed; expected (3,)
    """
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise errors.ActionError(
            f"{place}: {values!r} is not allowed; expected numbers", place=place
        ) from None
    if array.ndim != 1 or (count is not None and len(array) != count):
        expected = f"({count},)" if count is not None else "one dimension"
        raise errors.ActionError(
            f"{place}: the shape {array.shape} is not allowed; expected {expected}", place=place
        )
    wrong = np.flatnonzero(~np.isfinite(array))
    if len(wrong):
        where = f"{place}[{wrong[0]}]"
        raise errors.ActionError(
            f"{where}: {array[wrong[0]]:g} is not allowed; expected a finite number", place=where
        )
    return [float(value) for value in array]


def within(
    place: str, values: Any, low: npt.NDArray[Any], high: npt.NDArray[Any]
) -> npt.NDArray[np.float64]:
    """An array of numbers within bounds, with the shape of the bounds.

    >>> low, high = np.array([-1.0, 0.0]), np.array([1.0, 0.5])
    >>> within("action", [0, 0.5], low, high)
    array([0. , 0.5])
    >>> within("action", [0, 0.75], low, high)
    Traceback (most recent call last):
    ...
    pliant.errors.ActionError: action[1]: 0.75 is not allowed; expected a number in [0, 0.5]
    """
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise errors.ActionError(
            f"{place}: {values!r} is not allowed; expected numbers", place=place
        ) from None
    if array.shape != low.shape:
        raise errors.ActionError(
            f"{place}: the shape {array.shape} is not allowed; expected {low.shape}", place=place
        )
    inside = (array >= low) & (array <= high)  # NaN is in no interval
    if not inside.all():
        at = tuple(np.argwhere(~inside)[0])
        where = place + "".join(f"[{i}]" for i in at)
        raise errors.ActionError(
            f"{where}: {array[at]:g} is not allowed; expected a number in [{low[at]:g}, {high[at]:g}]",
            place=where,
        )
    return array


def _number(place: str, value: float) -> float:
    if not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
        raise errors.ActionError(
            f"{place}: {value!r} is not allowed; expected a finite number", place=place
        )
    return float(value)


def twist(linear: Vector = (0, 0, 0), angular: Vector = (0, 0, 0), controller: str = "") -> Command:
    """Velocity of a KINEMATIC body, or of the link of a differential_ik controller [m/s],
    [rad/s]."""
    body = control_pb2.Twist(
        linear=finite("linear", linear, 3), angular=finite("angular", angular, 3)
    )
    return Command("twist", body, controller)


def pose(position: Vector, quaternion: Vector = (1, 0, 0, 0), controller: str = "") -> Command:
    """Target pose of a KINEMATIC body, or of the link of a differential_ik controller: position
    [m], quaternion (w, x, y, z)."""
    body = control_pb2.BodyPose(
        position=finite("position", position, 3), quaternion=finite("quaternion", quaternion, 4)
    )
    return Command("pose", body, controller)


def joint_targets(targets: Targets) -> Command:
    """Targets of a robot's actuators, by joint, or of all of them in order: positions, rates or
    efforts, depending on the actuator.

    >>> joint_targets({"elbow": 0.5}).body.values
    [0.5]
    >>> joint_targets({"elbow": float("inf")})
    Traceback (most recent call last):
    ...
    pliant.errors.ActionError: joint_targets["elbow"]: inf is not allowed; expected a finite number
    """
    if isinstance(targets, Mapping):
        values = [_number(f'joint_targets["{joint}"]', value) for joint, value in targets.items()]
        return Command(
            "joint_targets", control_pb2.JointTargets(joints=list(targets), values=values)
        )
    return Command(
        "joint_targets",
        control_pb2.JointTargets(values=finite("joint_targets", targets)),
        order=True,
    )


def gripper(controller: str, position: float, force: Optional[float] = None) -> Command:
    """Target position of a gripper's joints [m], [rad], and a limit on the effort of each joint
    [N], [N·m]."""
    body = control_pb2.GripperTarget(controller=controller, position=_number("position", position))
    if force is not None:
        body.force = _number("force", force)
    return Command("gripper", body)


def gains(
    joints: Sequence[str], stiffness: Vector = (), damping: Vector = (), effort_limit: Vector = ()
) -> Command:
    """Gains of a robot's actuators. A list has one number for each joint, or none to leave those
    gains unchanged."""
    lists = {"stiffness": stiffness, "damping": damping, "effort_limit": effort_limit}
    numbers = {
        name: finite(name, values, len(joints) if len(values) else 0)
        for name, values in lists.items()
    }
    return Command("gains", control_pb2.Gains(joints=joints, **numbers))


def spring(
    anchor: Vector,
    *,
    link: str = "",
    point: Optional[Vector] = None,
    vertex: Optional[int] = None,
    stiffness: Optional[float] = None,
    damping: Optional[float] = None,
    max_force: Optional[float] = None,
) -> Command:
    """A spring and damper that pull a point of a free body or link, or a vertex of a deformable
    body, towards an anchor in the world frame [m]. stiffness [N/m], damping [N·s/m], max_force
    [N]."""
    body = control_pb2.Spring(
        link=link,
        anchor=finite("anchor", anchor, 3),
        vertex=vertex,
        point=finite("point", point, 3) if point is not None else None,
    )
    for name, value in (("stiffness", stiffness), ("damping", damping), ("max_force", max_force)):
        if value is not None:
            setattr(body, name, _number(name, value))
    return Command("spring", body)


def wrench(
    force: Vector = (0, 0, 0),
    torque: Optional[Vector] = None,
    *,
    link: str = "",
    point: Optional[Vector] = None,
    vertex: Optional[int] = None,
) -> Command:
    """A force at a point of a body, and a torque on it; world frame [N], [N·m]."""
    body = control_pb2.Wrench(
        link=link,
        force=finite("force", force, 3),
        vertex=vertex,
        torque=finite("torque", torque, 3) if torque is not None else None,
        point=finite("point", point, 3) if point is not None else None,
    )
    return Command("wrench", body)


def gamepad(axes: Vector = (), buttons: Vector = ()) -> Command:
    """The state of a gamepad in the standard layout, for a robot with a gamepad profile."""
    return Command(
        "gamepad",
        control_pb2.Gamepad(axes=finite("axes", axes), buttons=finite("buttons", buttons)),
    )
