"""Reads recordings of a server with the public MCAP library and the schemas in the file, whole and cut off.

    PLIANTD=build/release/bin/pliantd build/recordings_venv/bin/python -m unittest discover -s tests/recordings -p '*_test.py'
"""

import io
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import time
import unittest

from mcap.exceptions import McapError
from mcap.reader import NonSeekingReader, make_reader
from mcap.records import Chunk, Message
from mcap.stream_reader import StreamReader, breakup_chunk
from mcap_protobuf.decoder import DecoderFactory

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLIANTD = os.environ.get("PLIANTD", str(ROOT / "build/release/bin/pliantd"))
PLIANT = str(pathlib.Path(PLIANTD).with_name("pliant"))

SCENE = """
time_step: 0.01
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.012}
      pose: {position: [0, 0, 0.1]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
"""
STEPS = 30
MESH_SCENE = """
bodies:
  - name: tet
    deformable:
      mesh: {file: tet.vtk}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
"""
MESH = """# vtk DataFile Version 3.0
one tetrahedron
ASCII
DATASET UNSTRUCTURED_GRID
POINTS 4 double
0 0 0
0.1 0 0
0 0.1 0
0 0 0.1
CELLS 1 5
4 0 1 2 3
CELL_TYPES 1
10
"""


class Recording(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Records 30 steps of 10 ms at 50 frames a second, with a reset after 20."""
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        (folder / "scene.yaml").write_text(SCENE)
        cls.server = subprocess.Popen(
            [PLIANTD, "serve", "--grpc-port", "0", "--http-port", "0", "--data-dir", str(folder / "data")],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.address = json.loads(cls.server.stdout.readline())["grpc"]
        cls.pliant("world", "create", str(folder / "scene.yaml"), "--id", "w")
        cls.pliant("record", "start", "w", "--id", "r", "--rate", "50")
        cls.pliant("record", "start", "w", "--id", "coarse", "--rate", "25", "--decimated")
        cls.pliant("world", "step", "w", "20")
        time.sleep(1.1)  # a chunk ends with the first step that comes a second after it began
        cls.pliant("world", "reset", "w")
        cls.pliant("world", "step", "w", "10")
        cls.final_hash = json.loads(cls.pliant("--json", "world", "get", "w"))["state_hash"]
        (folder / "tet.vtk").write_text(MESH)
        (folder / "mesh.yaml").write_text(MESH_SCENE)
        cls.pliant("world", "create", str(folder / "mesh.yaml"), "--id", "m")
        cls.pliant("record", "start", "m", "--id", "mesh")
        cls.pliant("world", "step", "m", "10")
        for name in ("r", "coarse", "mesh"):
            cls.pliant("record", "stop", name)
            cls.pliant("record", "fetch", name, str(folder / f"{name}.mcap"))
        cls.bytes = (folder / "r.mcap").read_bytes()
        cls.coarse = (folder / "coarse.mcap").read_bytes()

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        cls.server.wait()
        cls.server.stdout.close()
        cls.folder.cleanup()

    @classmethod
    def pliant(cls, *arguments):
        return subprocess.run([PLIANT, "--server", cls.address, *arguments], check=True, capture_output=True,
                              text=True, timeout=60).stdout

    def messages(self, topic, file=None):
        reader = make_reader(io.BytesIO(file or self.bytes), validate_crcs=True, decoder_factories=[DecoderFactory()])
        return [message.decoded_message for message in reader.iter_decoded_messages(topics=[topic])]

    def test_the_summary_counts_what_is_there(self):
        summary = make_reader(io.BytesIO(self.bytes), validate_crcs=True).get_summary()
        topics = {channel.topic: identifier for identifier, channel in summary.channels.items()}
        self.assertEqual(set(topics), {"/inputs", "/states", "/events", "/frames"})
        for topic, identifier in topics.items():
            self.assertEqual(summary.statistics.channel_message_counts[identifier], len(self.messages(topic)), topic)
        self.assertEqual({schema.encoding for schema in summary.schemas.values()}, {"protobuf"})

    def test_inputs_have_every_step(self):
        self.assertEqual(sum(steps.count for steps in self.messages("/inputs")), STEPS)

    def test_frames_come_at_their_rate(self):
        frames = self.messages("/frames")
        # 50 a second: 11 in 0.2 s from the start, 6 in 0.1 s after the reset
        self.assertEqual(len(frames), 17)
        self.assertEqual([round(frame.time, 6) for frame in frames[:3]], [0, 0.02, 0.04])
        self.assertGreater(len(frames[0].deformables[0].positions), 0)

    def test_frames_have_the_tier_and_the_rate_that_were_asked_for(self):
        full, coarse = self.messages("/frames"), self.messages("/frames", self.coarse)
        # 25 a second: 6 in 0.2 s from the start, 3 in 0.1 s after the reset
        self.assertEqual(len(coarse), 9)
        self.assertLess(len(coarse[0].deformables[0].positions), len(full[0].deformables[0].positions) / 2)

    def test_files_of_the_scene_are_attached(self):
        file = pathlib.Path(self.folder.name) / "mesh.mcap"
        with file.open("rb") as stream:
            reader = make_reader(stream, validate_crcs=True)
            self.assertEqual([(one.name, one.data.decode()) for one in reader.iter_attachments()],
                             [("tet.vtk", MESH)])
            self.assertEqual(reader.get_summary().statistics.attachment_count, 1)
        # the fetched file is enough to replay it
        subprocess.run([PLIANTD, "replay", str(file)], check=True, capture_output=True, timeout=60)

    def test_chunks_are_compressed(self):
        summary = make_reader(io.BytesIO(self.bytes)).get_summary()
        self.assertEqual({chunk.compression for chunk in summary.chunk_indexes}, {"zstd"})
        self.assertLess(sum(chunk.compressed_size for chunk in summary.chunk_indexes),
                        sum(chunk.uncompressed_size for chunk in summary.chunk_indexes) / 2)

    def test_events_are_the_start_the_reset_and_the_end(self):
        events = self.messages("/events")
        self.assertEqual([event.WhichOneof("event") for event in events], ["start", "reset", "end"])
        self.assertIn("LINEAR_COROTATIONAL", events[0].start.source.scene_yaml)

    def test_the_last_state_is_that_of_the_world(self):
        self.assertEqual(self.messages("/states")[-1].state_hash, self.final_hash)

    def test_a_file_that_is_cut_off_is_readable_up_to_the_cut(self):
        whole = self.read_cut(len(self.bytes))
        chunks = [record for record in StreamReader(io.BytesIO(self.bytes), emit_chunks=True).records
                  if isinstance(record, Chunk)]
        places = make_reader(io.BytesIO(self.bytes)).get_summary().chunk_indexes
        self.assertEqual(len(chunks), len(places))
        self.assertGreater(len(chunks), 1)
        count = 0
        for chunk, place in zip(chunks, places):
            for part in range(0, place.chunk_length, 997):
                self.assertEqual(self.read_cut(place.chunk_start_offset + part), whole[:count])
            count += sum(isinstance(record, Message) for record in breakup_chunk(chunk))
            end = place.chunk_start_offset + place.chunk_length
            self.assertEqual(self.read_cut(end), whole[:count])
        # all chunks are there when only the summary is missing
        self.assertEqual(len(whole), count)

    def read_cut(self, size):
        """The messages up to the error by which the library reports a record that is cut short."""
        found = []
        reader = NonSeekingReader(io.BytesIO(self.bytes[:size]))
        try:
            for _, channel, message in reader.iter_messages(log_time_order=False):
                found.append((channel.topic, message.log_time, message.data))
        except (McapError, EOFError, struct.error):
            self.assertLess(size, len(self.bytes))
        return found


if __name__ == "__main__":
    unittest.main()
