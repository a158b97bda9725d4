"""Pliant: worlds of robots, rigid and deformable bodies on a server.

    import pliant

    with pliant.connect("127.0.0.1:50051") as server:
        world = server.create_world("scene.yaml")
        print(world.step(100).report.converged, world.probe("ball", position=True))
        for frame in world.frames(fields=["VON_MISES_STRAIN"]):
            print(frame.time, frame["ball"].positions.shape)

docs/python.md in Pliant's tree is a quick start. `pliant.envs` has environments for Gymnasium.
"""

import os
import sys


def _import_grpc() -> None:
    """Imports gRPC so that a process may fork while it has connections.

    By default, gRPC's C library restarts its threads in a forked child, while its Python layer does
    nothing. These threads complete calls for which threads of the parent waited; the child has no
    such threads, and hangs or aborts. With the variable set, the Python layer ends its own threads
    before a fork, and closes the child's copies of channels.

    gRPC reads the variable once, while it is imported. A value from the user is respected, and
    processes started from this one do not inherit ours.
    """
    switch = "GRPC_ENABLE_FORK_SUPPORT"
    is_given = switch in os.environ
    os.environ.setdefault(switch, "1")
    try:
        import grpc  # noqa: F401
    finally:
        if not is_given:
            del os.environ[switch]


_import_grpc()  # before the modules below, which import gRPC too

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
