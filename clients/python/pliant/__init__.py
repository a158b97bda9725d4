"""Pliant: worlds of robots, rigid and deformable bodies on a server.

    import pliant

    with pliant.connect("127.0.0.1:50051") as server:
        world = server.create_world("scene.yaml")
        print(world.step(100).report.converged, world.probe("ball", position=True))
        for frame in world.frames(fields=["VON_MISES_STRAIN"]):
            print(frame.time, frame["ball"].positions.shape)

docs/python.md of Pliant is a quick start. `pliant.envs` has environments for Gymnasium.
"""

import sys

from pliant import forks  # noqa: F401 (the first, since it imports gRPC)
from pliant.commands import (
    Command,
    gains,
    gamepad,
    gripper,
    joint_targets,
    pose,
    spring,
    twist,
    wrench,
)
from pliant.description import Description
from pliant.driving import Feedback, Latency, Lease
from pliant.errors import (
    Aborted,
    ActionError,
    AlreadyExists,
    DataLoss,
    Forked,
    InvalidRequest,
    LeaseLost,
    NotFound,
    PermissionDenied,
    PliantError,
    QuotaExceeded,
    Refused,
    SceneError,
    TimedOut,
    Unauthenticated,
    UnknownName,
    Unreachable,
    VersionMismatch,
)
from pliant.frames import Frame
from pliant.lockstep import Lockstep, Observation, WorldStep, step_worlds
from pliant.notebook import show
from pliant.recordings import Recording
from pliant.server import VERSION as __version__
from pliant.server import Server, connect
from pliant.subscription import Subscription
from pliant.world import Checkpoint, Step, World

__all__ = [
    "Aborted",
    "ActionError",
    "AlreadyExists",
    "Checkpoint",
    "Command",
    "DataLoss",
    "Description",
    "Feedback",
    "Forked",
    "Frame",
    "InvalidRequest",
    "Latency",
    "Lease",
    "LeaseLost",
    "Lockstep",
    "NotFound",
    "Observation",
    "PermissionDenied",
    "PliantError",
    "QuotaExceeded",
    "Recording",
    "Refused",
    "SceneError",
    "Server",
    "Step",
    "Subscription",
    "TimedOut",
    "Unauthenticated",
    "UnknownName",
    "Unreachable",
    "VersionMismatch",
    "World",
    "WorldStep",
    "__version__",
    "connect",
    "gains",
    "gamepad",
    "gripper",
    "joint_targets",
    "pose",
    "show",
    "spring",
    "step_worlds",
    "twist",
    "wrench",
]

if (
    "gymnasium" in sys.modules
):  # so that gymnasium.make knows the environments; otherwise `import pliant.envs` does that
    from pliant import envs as envs
