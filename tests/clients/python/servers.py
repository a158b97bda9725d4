"""Servers for the tests of the Python client. PLIANTD names their program."""

import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PLIANTD = os.environ.get("PLIANTD", str(ROOT / "build/release/bin/pliantd"))
TIMEOUT = 60  # [s]; machines that run tests may be busy

# For subprocess. Python 3.9 forks to start a program, and gRPC restarts its threads in the child. They
# abort it when Python closes their files, which it does before it executes the program. The files are
# not inherited anyway.
KEEP_FILES = {"close_fds": False}

# A cube and a ball fall beside a paddle that can be driven.
SCENE = """
name: tested
time_step: 0.01
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: paddle
    rigid: {motion: KINEMATIC, pose: {position: [0.5, 0, 0.5]}, shapes: [{sphere: {radius: 0.05}}]}
  - name: cube
    rigid:
      motion: FREE
      density: 1000
      pose: {position: [1, 0, 0.2]}
      shapes: [{box: {size: [0.1, 0.1, 0.1]}}]
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.02}
      pose: {position: [0, 0, 0.1]}
      material:
        {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
probes:
  - {name: height, position: {body: cube}}
  - {name: speed, velocity: {body: cube}}
  - {name: strain, field: {body: ball, measure: VON_MISES_STRAIN, reduce: MAX}}
"""

LINK = """<inertial><origin xyz="0 0 0.1"/><mass value="1"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>"""
ARM_URDF = f"""<robot name="arm">
  <link name="base"/>
  <link name="upper">{LINK}</link>
  <link name="lower">{LINK}</link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="1.5" effort="100" velocity="3"/>
  </joint>
  <joint name="elbow" type="revolute">
    <parent link="upper"/><child link="lower"/><origin xyz="0 0 0.2"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="100" velocity="3"/>
  </joint>
</robot>
"""
ARM = """
name: armed
robots:
  - {name: arm, file: arm.urdf, actuators: [{joint: ".*", pd: {stiffness: 100, damping: 10}}]}
probes:
  - {name: shoulder, joint: {robot: arm, joint: shoulder, quantity: POSITION}}
  - {name: tip, position: {link: arm/lower, point: [0, 0, 0]}}
"""


class ServerProcess:
    """A server on ports of its own, with a folder for its data. Its process is ended by its id
    alone."""

    def __init__(self, *flags, port=0, folder=None):
        self.temporary = None if folder else tempfile.TemporaryDirectory()
        self.folder = folder or self.temporary.name
        command = [
            PLIANTD,
            "serve",
            "--grpc-port",
            str(port),
            "--http-port",
            "0",
            "--data-dir",
            self.folder,
            *flags,
        ]
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.log, text=True, **KEEP_FILES
        )
        line = self.process.stdout.readline()
        if not line:
            raise self.ended_at_start()
        ready = json.loads(line)
        self.address, self.http = ready["grpc"], ready["http"]
        self.port = int(self.address.rpartition(":")[2])

    def ended_at_start(self):
        """The error with the exit status and whatever the process wrote."""
        status = self.process.wait(TIMEOUT)
        self.log.seek(0)
        log = self.log.read()
        self.stop()
        return RuntimeError(f"pliantd ended at its start with status {status}:\n{log}")

    def kill(self):
        self.process.kill()
        self.process.wait(TIMEOUT)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(TIMEOUT)
        self.process.stdout.close()
        self.log.close()
        if self.temporary:
            self.temporary.cleanup()


class WithServer(unittest.TestCase):
    """Tests against one server, with a connection for each."""

    flags = ()

    @classmethod
    def setUpClass(cls):
        cls.server_process = ServerProcess(*cls.flags)
        cls.addClassCleanup(cls.server_process.stop)

    def setUp(self):
        import pliant

        self.server = pliant.connect(self.server_process.address)
        self.addCleanup(self.server.close)
        self.addCleanup(self.delete_worlds)

    def delete_worlds(self):
        for world in self.server.list_worlds():
            self.server.world(world.name).delete()


def write_arm(folder):
    """A scene file and the robot that it names."""
    folder = pathlib.Path(folder)
    (folder / "robots").mkdir(exist_ok=True)
    (folder / "robots/arm.urdf").write_text(ARM_URDF)
    (folder / "arm.yaml").write_text(ARM.replace("arm.urdf", "robots/arm.urdf"))
    return folder / "arm.yaml"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until(condition, timeout=TIMEOUT):
    """True if the condition holds before the time-out."""
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def resident_megabytes(process_id):
    for line in pathlib.Path(f"/proc/{process_id}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0
