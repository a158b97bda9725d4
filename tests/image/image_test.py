"""The image, run by podman as its users run it.

PLIANT_IMAGE_ARCHIVE   OCI archive of the image
PLIANT_IMAGE_TAG       its name, localhost/pliant:VERSION
PLIANT                 the client, which drives it from outside
"""

import json
import os
import pathlib
import resource
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request

ARCHIVE = os.environ["PLIANT_IMAGE_ARCHIVE"]
TAG = os.environ["PLIANT_IMAGE_TAG"]
CLIENT = os.environ["PLIANT"]
TIMEOUT = 60  # [s]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        base = pathlib.Path(cls.folder.name)
        # podman's own limits are above those of this machine, which runc may not raise
        limits = []
        for name, kind in (("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC)):
            hard = resource.getrlimit(kind)[1]
            limit = hard if 0 <= hard < 4096 else 4096
            limits.append(f'"{name}={limit}:{limit}"')
        (base / "containers.conf").write_text(
            f'[containers]\ndefault_ulimits = [{", ".join(limits)}]\n'
            '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n')
        cls.environment = {**os.environ, "CONTAINERS_CONF": str(base / "containers.conf")}
        cls.podman_command = ["podman", "--root", str(base / "storage"), "--runroot", str(base / "run"),
                              "--storage-driver", "vfs", "--runtime", "runc"]
        cls.podman("load", "--quiet", "--input", ARCHIVE)
        # podman exits with 125 where it cannot set up a container at all
        tried = cls.podman("run", "--rm", "--network", "host", TAG, "--version", check=False)
        if tried.returncode == 125:
            cls.tearDownClass()
            raise unittest.SkipTest(f"this machine runs no containers: {tried.stderr.strip()}")

    @classmethod
    def tearDownClass(cls):
        cls.podman("rm", "--all", "--force", "--time", "0", check=False)
        cls.podman("volume", "rm", "--all", "--force", check=False)
        cls.podman("rmi", "--all", "--force", check=False)
        cls.folder.cleanup()

    @classmethod
    def podman(cls, *arguments, check=True):
        done = subprocess.run([*cls.podman_command, *arguments], env=cls.environment, text=True,
                              capture_output=True, timeout=120)
        if check and done.returncode != 0:
            raise AssertionError(f"podman {' '.join(arguments)}: {done.stderr.strip()}")
        return done

    def start(self, name, *flags):
        """Starts a container with a read-only root and waits until it is healthy."""
        self.grpc, self.http = free_port(), free_port()
        self.podman("run", "--detach", "--name", name, "--read-only", "--cap-drop", "all", "--network", "host",
                    "--volume", "pliant-data:/data", "--env", "PLIANT_BIND=127.0.0.1", TAG, "serve",
                    "--grpc-port", str(self.grpc), "--http-port", str(self.http), *flags)
        self.addCleanup(self.podman, "rm", "--force", "--time", "0", name, check=False)
        end = time.monotonic() + TIMEOUT
        while self.podman("exec", name, "/usr/bin/pliant", "--server", f"127.0.0.1:{self.grpc}", "health",
                          check=False).returncode != 0:
            running = self.podman("inspect", name, "--format", "{{.State.Running}}").stdout.strip()
            if running != "true" or time.monotonic() > end:
                raise AssertionError(self.podman("logs", name, check=False).stderr)
            time.sleep(0.2)

    def client(self, *arguments):
        done = subprocess.run([CLIENT, "--server", f"127.0.0.1:{self.grpc}", "--json", *arguments], text=True,
                              capture_output=True, timeout=TIMEOUT)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_is_healthy_driven_from_outside_and_drained(self):
        self.start("driven")
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/healthz", timeout=TIMEOUT) as reply:
            self.assertEqual(json.load(reply)["status"], "serving")
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/", timeout=TIMEOUT) as reply:
            self.assertIn(b"Pliant", reply.read())
        self.client("world", "create", "--shipped", "soft_ball", "--id", "ball")
        stepped = self.client("world", "step", "ball", "10")
        self.assertEqual(int(stepped["step"]), 10)

        begun = time.monotonic()
        self.podman("kill", "--signal", "TERM", "driven")
        status = self.podman("wait", "driven").stdout.strip()
        self.assertEqual(status, "0")
        self.assertLess(time.monotonic() - begun, 10)

    def test_runs_as_an_ordinary_user(self):
        inspected = json.loads(self.podman("image", "inspect", TAG).stdout)[0]
        self.assertEqual(inspected["User"], "10001:10001")
        self.assertEqual(set(inspected["Config"]["ExposedPorts"]), {"50051/tcp", "8080/tcp"})

    def test_reads_surfaces_of_other_programs(self):
        folder = pathlib.Path(self.folder.name)
        corners = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
        faces = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
        (folder / "cube.ply").write_text(
            "ply\nformat ascii 1.0\nelement vertex 8\nproperty float x\nproperty float y\nproperty float z\n"
            "element face 6\nproperty list uchar int vertex_indices\nend_header\n"
            + "".join("%g %g %g\n" % corner for corner in corners) + "".join("4 %d %d %d %d\n" % face for face in faces))
        done = self.podman("run", "--rm", "--read-only", "--network", "none", "--volume", f"{folder}/cube.ply:/cube.ply:ro",
                           TAG, "import", "/cube.ply", check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cube.ply", done.stdout)

    def test_worlds_on_the_volume_survive_a_kill(self):
        self.start("killed")
        self.client("world", "create", "--shipped", "soft_ball", "--id", "ball", "--durable")
        before = self.client("world", "step", "ball", "10")
        self.podman("kill", "--signal", "KILL", "killed")
        self.podman("wait", "killed")
        self.start("again")
        after = self.client("world", "get", "ball")
        self.assertEqual(after["step"], before["step"])
        self.assertEqual(after["state_hash"], before["state_hash"])

    def test_admits_no_other_machine_without_tls_and_tokens(self):
        done = self.podman("run", "--rm", "--read-only", "--network", "none", TAG, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--tokens", done.stderr)


if __name__ == "__main__":
    unittest.main()
