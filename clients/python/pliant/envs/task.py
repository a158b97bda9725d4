"""Tasks: scene, actions, observations and rewards of an environment."""

from __future__ import annotations

import pathlib
import re
from typing import Any, NamedTuple, Sequence

import numpy as np
import numpy.typing as npt

from pliant.v1 import control_pb2

SCENES = pathlib.Path(__file__).parent / "scenes"
Floats = npt.NDArray[np.float64]


class Judgement(NamedTuple):
    reward: float
    terminated: bool
    is_success: bool


class Readings(NamedTuple):
    """A state: joints in the order of the description, and probes by name."""

    positions: Floats
    velocities: Floats
    probes: dict[str, Floats]


def scene_without_script(name: str, probes: Sequence[str] = ()) -> str:
    """The text of a scene that comes with the package, without its script and with more probes.

    >>> "script:" in scene_without_script("beam_insertion.yaml")
    False
    >>> "  - {name: e, energy: {}}" in scene_without_script("beam_insertion.yaml", ["{name: e, energy: {}}"]).splitlines()
    True
    """
    text = (SCENES / name).read_text(encoding="utf-8")
    text = re.sub(r"^script:.*\n(?:[ \t#-].*\n|\n)*", "", text, flags=re.M)
    added = "".join(f"  - {probe}\n" for probe in probes)
    return re.sub(r"^probes:.*\n", lambda found: found[0] + added, text, flags=re.M)


class Task:
    """A task of a robot in a scene, to be subclassed.

    An action is a row of numbers from -1 to 1, which `commands` turns into commands that hold for
    `steps` steps.
    """

    scene = ""  # file in scenes/
    robot = ""
    added_probes: tuple[str, ...] = ()  # lines of the scene
    read_probes: tuple[str, ...] = ()  # names of the probes that observations need
    actions: tuple[str, ...] = ()  # names of the numbers of an action
    steps = 1  # of the world per action
    settling_steps = 10  # at the start of an episode, in which the robot takes its random pose
    frame_body = ""  # a body that does not move, because only the joints of frames are used

    def start(self, random: np.random.Generator) -> Any:
        """Draws the random parameters of an episode."""
        raise NotImplementedError

    def settle(self, episode: Any, request: Any) -> None:
        """Adds the commands at the start of an episode to a StepWorldRequest."""
        raise NotImplementedError

    def command(self, action: Floats, request: Any) -> None:
        """Adds the commands of an action to a StepWorldRequest."""
        raise NotImplementedError

    def observe(self, readings: Readings, episode: Any) -> Floats:
        raise NotImplementedError

    def judge(self, readings: Readings, episode: Any) -> Judgement:
        raise NotImplementedError

    def text(self) -> str:
        return scene_without_script(self.scene, self.added_probes)

    def _targets(self, request: Any, joints: Sequence[str], values: Sequence[float]) -> None:
        targets = control_pb2.JointTargets(joints=joints, values=values)
        request.commands.add(target=self.robot, joint_targets=targets)

    def _twist(self, request: Any, linear: Sequence[float], angular: Sequence[float]) -> None:
        request.commands.add(
            target=self.robot,
            twist=control_pb2.Twist(linear=linear, angular=angular),
            controller="tool",
        )

    def _grip(self, request: Any, controller: str, position: float) -> None:
        request.commands.add(
            target=self.robot,
            gripper=control_pb2.GripperTarget(controller=controller, position=position),
        )


class GraspEpisode(NamedTuple):
    offsets: Floats  # of the arm's joints at the start [rad]
    goal: Floats  # of the ball [m]


class SoftGrasp(Task):
    """An iiwa with an Allegro hand takes a soft ball from a table and brings it to a goal in the
    air.

    Actions: velocity and angular velocity of the flange, and closure of the fingers.
    Observations: positions and velocities of the 23 joints; palm, ball, its velocity and largest
    strain; the goal. The reward of an action is minus the distances from palm to ball and from ball
    to goal [m], minus strain beyond 0.5, plus 10 at the goal, minus 5 if the ball falls off the
    table.
    """

    scene = "iiwa_allegro.yaml"
    robot = "robot"
    added_probes = (
        "{name: palm, position: {link: robot/iiwa_flange, point: [0, 0, 0.1]}}",
        "{name: ball_velocity, velocity: {body: ball}}",
    )
    read_probes = ("palm", "ball", "ball_velocity", "strain")
    actions = ("vx", "vy", "vz", "wx", "wy", "wz", "close")
    steps = 5  # 0.05 s
    frame_body = "floor"

    MAX_SPEED, MAX_RATE = 0.25, 1.0  # [m/s], [rad/s]
    OPEN, CLOSED = 0.0, 1.4  # of the fingers' joints [rad]
    ARM = tuple(f"iiwa_joint_{i}" for i in range(1, 8))
    HOME = np.array([0.0, 0.6, 0.0, -1.4, 0.0, 1.14, 0.0])
    SIZE = 2 * 23 + 3 + 3 + 3 + 1 + 3

    def start(self, random: np.random.Generator) -> GraspEpisode:
        return GraspEpisode(
            random.uniform(-0.04, 0.04, 7), random.uniform([0.45, -0.12, 0.15], [0.58, 0.12, 0.25])
        )

    def settle(self, episode: GraspEpisode, request: Any) -> None:
        self._targets(request, self.ARM, (self.HOME + episode.offsets).tolist())

    def command(self, action: Floats, request: Any) -> None:
        self._twist(
            request, (self.MAX_SPEED * action[:3]).tolist(), (self.MAX_RATE * action[3:6]).tolist()
        )
        self._grip(
            request, "hand", float(self.OPEN + (self.CLOSED - self.OPEN) * (action[6] + 1) / 2)
        )

    def observe(self, readings: Readings, episode: GraspEpisode) -> Floats:
        return np.concatenate(
            [
                readings.positions,
                readings.velocities,
                *(readings.probes[name] for name in self.read_probes),
                episode.goal,
            ]
        )

    def judge(self, readings: Readings, episode: GraspEpisode) -> Judgement:
        ball, palm = readings.probes["ball"], readings.probes["palm"]
        to_goal = float(np.linalg.norm(ball - episode.goal))
        reward = (
            -float(np.linalg.norm(palm - ball))
            - to_goal
            - max(0.0, float(readings.probes["strain"][0]) - 0.5)
        )
        if to_goal < 0.03:
            return Judgement(reward + 10, True, True)
        fell = ball[2] < -0.05
        return Judgement(reward - 5 * fell, bool(fell), False)


class InsertionEpisode(NamedTuple):
    offsets: Floats  # of the arm's joints at the start [rad]


class BeamInsertion(Task):
    """A Fetch that holds a flexible beam moves it over a slot with 1.1 mm clearance and pushes it
    in.

    Actions: velocity of the gripper, and its yaw rate. Observations:
    positions and velocities of all joints, of robot and beam; both ends of the beam and the
    gripper; the force on the slot. The reward of an action is minus the horizontal distance of the
    beam's foot from the slot [m], plus its depth in the slot, plus 10 when it is 0.05 m below the
    plates, minus 5 if the beam is dropped.
    """

    scene = "beam_insertion.yaml"
    robot = "fetch"
    read_probes = ("foot", "head", "gripper", "slot_force")
    actions = ("vx", "vy", "vz", "turn")
    steps = 6  # 0.05 s
    frame_body = "floor"

    MAX_SPEED, MAX_RATE = 0.2, 0.5  # [m/s], [rad/s]
    SLOT = np.array([0.6508, 0.0])
    TOP, BOTTOM, HALF_WIDTH, HALF_LENGTH = 0.48, 0.22, 0.0211, 0.06  # of the slot [m]
    ARM = (
        "shoulder_pan_joint",
        "shoulder_lift_joint",
        "upperarm_roll_joint",
        "elbow_flex_joint",
        "forearm_roll_joint",
        "wrist_flex_joint",
        "wrist_roll_joint",
    )
    HOME = np.array([-0.3134, -0.9105, 0.0003, 1.0952, -0.0002, 1.386, -0.3132])

    def start(self, random: np.random.Generator) -> InsertionEpisode:
        return InsertionEpisode(random.uniform(-0.005, 0.005, 7))

    def settle(self, episode: InsertionEpisode, request: Any) -> None:
        self._targets(request, self.ARM, (self.HOME + episode.offsets).tolist())
        self._grip(request, "gripper", 0.0)

    def command(self, action: Floats, request: Any) -> None:
        self._twist(
            request,
            (self.MAX_SPEED * action[:3]).tolist(),
            [0.0, 0.0, self.MAX_RATE * float(action[3])],
        )
        self._grip(request, "gripper", 0.0)

    def observe(self, readings: Readings, episode: InsertionEpisode) -> Floats:
        return np.concatenate(
            [
                readings.positions,
                readings.velocities,
                *(readings.probes[name] for name in self.read_probes),
            ]
        )

    def judge(self, readings: Readings, episode: InsertionEpisode) -> Judgement:
        foot, head, gripper = (readings.probes[name] for name in ("foot", "head", "gripper"))
        off = np.abs(foot[:2] - self.SLOT)
        is_over = bool(off[0] < self.HALF_WIDTH and off[1] < self.HALF_LENGTH)
        depth = max(0.0, self.TOP - float(foot[2])) if is_over else 0.0
        reward = depth - float(np.linalg.norm(off))
        if is_over and foot[2] < self.BOTTOM - 0.05:
            return Judgement(reward + 10, True, True)
        dropped = bool(np.linalg.norm(head - gripper) > 0.12)
        return Judgement(reward - 5 * dropped, dropped, False)


TASKS: dict[str, type[Task]] = {
    "pliant/SoftGrasp-v0": SoftGrasp,
    "pliant/BeamInsertion-v0": BeamInsertion,
}
