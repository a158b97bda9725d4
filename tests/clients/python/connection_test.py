"""Addresses, TLS, tokens, versions, reconnection, threads and forked processes."""

import concurrent.futures
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import tempfile
import threading
import time
import unittest

from servers import (
    KEEP_FILES,
    PLIANTD,
    SCENE,
    TIMEOUT,
    ServerProcess,
    WithServer,
    free_port,
    wait_until,
)

import pliant
from pliant.channel import grpc  # as the client imports it, with its handlers for forks
from pliant.v1 import world_pb2


class Addresses(WithServer):
    def refusal(self, *arguments, **named):
        with self.assertRaises(pliant.PliantError) as refused:
            pliant.connect(*arguments, **named)
        return refused.exception

    def test_an_address_without_a_port_is_said_to_lack_it(self):
        self.assertIn("the port is missing; expected HOST:PORT", str(self.refusal("127.0.0.1")))

    def test_the_http_port_is_said_to_be_it(self):
        error = self.refusal(self.server_process.http.split("//")[1])
        self.assertIsInstance(error, pliant.Unreachable)
        self.assertIn("is the port of pages (HTTP), not of gRPC", str(error))
        self.assertIn("--grpc-port", error.mend)

    def test_an_absent_server_is_said_to_be_absent(self):
        begun = time.monotonic()
        error = self.refusal(f"127.0.0.1:{free_port()}")
        self.assertIsInstance(error, pliant.Unreachable)
        self.assertIn("no server answers", str(error))
        self.assertLess(time.monotonic() - begun, 15)

    def test_tls_towards_a_server_without_is_said(self):
        self.assertIn("speaks no TLS", str(self.refusal(self.server_process.address, tls=True)))

    def test_files_that_are_missing_are_named(self):
        self.assertIn(
            "/no/token", str(self.refusal(self.server_process.address, token_file="/no/token"))
        )
        self.assertIn("/no/ca.pem", str(self.refusal(self.server_process.address, ca="/no/ca.pem")))

    def test_errors_travel_between_processes(self):
        error = self.refusal("127.0.0.1")
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual(
            (type(again), str(again), again.place, again.mend),
            (type(error), str(error), error.place, error.mend),
        )


class Security(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        for name, subject in (("cert", "localhost"), ("other", "elsewhere.example")):
            subprocess.run(
                [
                    "openssl",
                    "req",
                    "-x509",
                    "-newkey",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:prime256v1",
                    "-nodes",
                    "-keyout",
                    cls.folder / f"{name}.key",
                    "-out",
                    cls.folder / f"{name}.pem",
                    "-days",
                    "2",
                    "-subj",
                    f"/CN={subject}",
                    "-addext",
                    f"subjectAltName=DNS:{subject}",
                ],
                check=True,
                capture_output=True,
                **KEEP_FILES,
            )
        tokens = str(cls.folder / "tokens.yaml")
        cls.token = cls.make_token("alice", "operator", tokens)
        cls.viewer = cls.make_token("wall", "viewer", tokens)
        cls.process = ServerProcess(
            "--tls-cert",
            str(cls.folder / "cert.pem"),
            "--tls-key",
            str(cls.folder / "cert.key"),
            "--tokens",
            tokens,
        )
        cls.addClassCleanup(cls.process.stop)
        cls.address = f"localhost:{cls.process.port}"

    @classmethod
    def make_token(cls, name, role, tokens):
        command = [PLIANTD, "token", "--name", name, "--role", role, "--tokens", tokens]
        made = subprocess.run(command, check=True, capture_output=True, text=True, **KEEP_FILES)
        return made.stdout.split()[-1]

    def connect(self, **named):
        return pliant.connect(named.pop("address", self.address), **named)

    def test_a_token_file_and_a_certificate_let_in(self):
        file = self.folder / "token"
        file.write_text(self.token + "\n")
        with self.connect(token_file=file, ca=self.folder / "cert.pem") as server:
            self.assertIn("tokens", server.info.features)
            server.create_world(scene_yaml=SCENE).delete()

    def test_a_wrong_token_is_refused(self):
        with self.assertRaises(pliant.Unauthenticated):
            self.connect(token="pliant_wrong", ca=self.folder / "cert.pem")
        with self.assertRaises(pliant.Unauthenticated):
            self.connect(ca=self.folder / "cert.pem")

    def test_a_low_role_is_named(self):
        with self.connect(token=self.viewer, ca=self.folder / "cert.pem") as server:
            with self.assertRaisesRegex(pliant.PermissionDenied, "operator"):
                server.create_world(scene_yaml=SCENE)

    def test_a_certificate_of_another_authority_or_name_is_said(self):
        with self.assertRaisesRegex(pliant.Unreachable, "certificate of .* is refused"):
            self.connect(token=self.token, ca=self.folder / "other.pem")
        with self.assertRaisesRegex(
            pliant.Unreachable, "certificate of .* is refused: .*(IP address|match)"
        ):
            self.connect(
                token=self.token,
                ca=self.folder / "cert.pem",
                address=f"127.0.0.1:{self.process.port}",
            )

    def test_a_plain_connection_is_said_to_lack_tls(self):
        with self.assertRaisesRegex(pliant.Unreachable, "wants TLS"):
            self.connect(token=self.token)


class Versions(unittest.TestCase):
    """Servers of other versions: a stand-in that answers only the version call."""

    def stand_in(self, version):
        def get_server(request, context):
            if version is None:
                context.abort(grpc.StatusCode.UNIMPLEMENTED, "")
            return world_pb2.ServerInfo(version=version)

        handler = grpc.unary_unary_rpc_method_handler(
            get_server,
            world_pb2.GetServerRequest.FromString,
            world_pb2.ServerInfo.SerializeToString,
        )
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(1))
        server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler("pliant.v1.WorldService", {"GetServer": handler})]
        )
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        self.addCleanup(lambda: server.stop(0).wait())
        return f"127.0.0.1:{port}"

    def test_a_newer_server_asks_to_update_the_client(self):
        with self.assertRaisesRegex(pliant.VersionMismatch, "version 99.0.0.*update the client"):
            pliant.connect(self.stand_in("99.0.0"))

    def test_an_older_server_is_to_be_updated(self):
        with self.assertRaisesRegex(pliant.VersionMismatch, "update the server"):
            pliant.connect(self.stand_in("0.0.1"))
        with self.assertRaisesRegex(
            pliant.VersionMismatch, "older than this client; update the server"
        ):
            pliant.connect(self.stand_in(None))

    def test_an_equal_one_is_taken(self):
        pliant.connect(self.stand_in(pliant.__version__)).close()


class Reconnection(unittest.TestCase):
    def test_a_client_is_back_within_a_second_after_its_server(self):
        process = ServerProcess()
        self.addCleanup(process.stop)
        server = pliant.connect(process.address, reconnect_timeout=TIMEOUT)
        self.addCleanup(server.close)
        world = server.create_world(scene_yaml=SCENE, world_id="w", durable=True)
        stepped = world.step(5)
        frames = world.subscribe(rate=30)
        self.addCleanup(frames.close)
        self.assertEqual(frames.next(TIMEOUT).step, 5)

        process.kill()
        self.assertTrue(wait_until(lambda: not server.is_connected))
        time.sleep(1.5)  # attempts have backed off by now
        again = ServerProcess(port=process.port, folder=process.folder)
        self.addCleanup(again.stop)
        listening = time.monotonic()
        self.assertTrue(wait_until(lambda: server.is_connected))
        self.assertLess(time.monotonic() - listening, 1)

        # acknowledged steps are kept; calls and streams continue
        self.assertEqual(world.state_hash, stepped.state_hash)
        before = frames.counts.received
        self.assertTrue(wait_until(lambda: frames.counts.received > before))
        self.assertGreater(frames.counts.reconnections, 0)

    def test_a_step_whose_answer_is_lost_is_reported_as_unknown(self):
        process = ServerProcess()
        self.addCleanup(process.stop)
        server = pliant.connect(process.address, reconnect_timeout=1)
        self.addCleanup(server.close)
        world = server.create_world(scene_yaml=SCENE)
        begun = world.info.step
        threading.Timer(0.5, process.kill).start()
        with self.assertRaisesRegex(pliant.Unreachable, "whether the server did it is unknown"):
            world.step(10_000_000)
        self.assertEqual(begun, 0)
        with self.assertRaisesRegex(pliant.Unreachable, "no server answers"):
            world.info


def use_in_child(pipe, world):
    """Makes a call in a forked process and sends its outcome."""
    try:
        world.info
        pipe.send("answered")
    except pliant.Forked as error:
        pipe.send(str(error))


def close_in_child(pipe, *opened):
    for one in opened:
        one.close()
    pipe.send("closed")


def connect_in_child(pipe, address, name):
    with pliant.connect(address) as server:
        pipe.send(server.world(name).step(2).step)


class Processes(WithServer):
    def from_child(self, function, *arguments):
        """Returns the object that a function sends from a forked child, which must exit with 0."""
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        child = context.Process(target=function, args=(theirs, *arguments))
        child.start()
        self.addCleanup(child.kill)
        theirs.close()
        self.assertTrue(ours.poll(TIMEOUT), "the child hangs")
        said = ours.recv()
        child.join(TIMEOUT)
        self.assertEqual(child.exitcode, 0)
        return said

    def test_a_forked_child_is_refused_and_the_parent_goes_on(self):
        world = self.server.create_world(scene_yaml=SCENE)
        said = self.from_child(use_in_child, world)
        self.assertIn(f"was made by process {os.getpid()}", said)
        self.assertIn("call pliant.connect in this process", said)
        self.assertEqual(world.step(3).step, 3)

    def test_a_forked_child_connects_again(self):
        world = self.server.create_world(scene_yaml=SCENE)
        self.assertEqual(
            self.from_child(connect_in_child, self.server.address, world.name.split("/")[-1]), 2
        )
        self.assertEqual(world.step(3).step, 5)

    def test_a_forked_child_ends_no_stream_and_no_lease_of_its_parent(self):
        world = self.server.create_world(scene_yaml=SCENE)
        world.run(1.0)
        with world.subscribe(rate=30) as frames, world.lease("paddle") as lease:
            frames.next(TIMEOUT)
            said = self.from_child(close_in_child, frames, lease, self.server)
            self.assertEqual(said, "closed")
            before = frames.counts.received
            self.assertTrue(wait_until(lambda: frames.counts.received > before))
            lease.wait_applied(lease.send(pliant.twist()), TIMEOUT)
            self.assertEqual(frames.counts.reconnections, 0)

    def test_threads_share_a_client(self):
        worlds = [self.server.create_world(scene_yaml=SCENE) for _ in range(2)]
        hashes = {}

        def drive(world):
            for _ in range(20):
                hashes.setdefault(world.name, []).append(
                    world.step(1, probes=["height"]).state_hash
                )
                self.server.list_worlds()

        threads = [threading.Thread(target=drive, args=(world,)) for world in worlds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(TIMEOUT)
        first, second = hashes.values()
        self.assertEqual(len(first), 20)
        self.assertEqual(first, second)  # of the same scene, without a mix-up of replies

    def test_a_closed_client_says_so(self):
        world = self.server.create_world(scene_yaml=SCENE)
        other = pliant.connect(self.server_process.address)
        same = other.world(world.name)
        other.close()
        with self.assertRaisesRegex(pliant.Unreachable, "is closed"):
            same.info


if __name__ == "__main__":
    unittest.main()
