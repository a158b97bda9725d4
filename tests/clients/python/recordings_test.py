"""Recordings: made, replayed, and downloaded with interruptions."""

import hashlib
import json
import pathlib
import tempfile
import unittest

from servers import SCENE, WithServer

import pliant
from pliant import recordings


CHUNK = 2_000  # bytes


class Interruption(Exception):
    pass


class Recordings(WithServer):
    def setUp(self):
        super().setUp()
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.addCleanup(self.delete_recordings)
        for name, size in (("_CHUNK", CHUNK), ("_OVERLAP", 1_000)):
            self.addCleanup(setattr, recordings, name, getattr(recordings, name))
            setattr(recordings, name, size)

    def delete_recordings(self):
        for recording in self.server.list_recordings():
            if recording.state == "ACTIVE":
                recording.stop()
            recording.delete()

    def record(self, name, steps=60, scene=SCENE):
        world = self.server.create_world(scene_yaml=scene)
        recording = world.record(name, rate=100, fields=["VON_MISES_STRAIN"])
        self.assertEqual(recording.state, "ACTIVE")
        world.step(steps)
        recording.stop()
        self.assertEqual(recording.state, "COMPLETE")
        return recording

    def interrupt(self, recording, file, chunks=3):
        """Downloads some chunks."""
        count = 0

        def progress(done, size):
            nonlocal count
            count += 1
            if count == chunks:
                raise Interruption

        with self.assertRaises(Interruption):
            recording.download(file, progress)
        return file.with_name(file.name + ".part")

    def test_a_recording_is_downloaded_and_replays(self):
        recording = self.record("whole")
        done = recording.download(self.folder / "a.mcap")
        content = done.path.read_bytes()
        self.assertEqual(
            (len(content), hashlib.sha256(content).hexdigest()), (done.size, done.sha256)
        )
        self.assertEqual(content[:5], b"\x89MCAP")
        self.assertEqual(list(self.folder.iterdir()), [done.path])
        replay = recording.replay()
        self.assertEqual((replay.steps, replay.mismatch_step, replay.is_complete), (60, None, True))
        self.assertEqual([one.name for one in self.server.list_recordings()], ["recordings/whole"])

    def test_an_interrupted_download_goes_on_where_it_stopped(self):
        recording = self.record("cut")
        whole = recording.download(self.folder / "whole.mcap")
        part = self.interrupt(recording, self.folder / "b.mcap")
        self.assertEqual(part.stat().st_size, 3 * CHUNK)
        self.assertFalse((self.folder / "b.mcap").exists())
        again = self.server.recording("cut").download(self.folder / "b.mcap")
        self.assertEqual(again.resumed_at, 3 * CHUNK)
        self.assertEqual(again.sha256, whole.sha256)
        self.assertEqual(again.path.read_bytes(), whole.path.read_bytes())

    def test_a_part_that_was_damaged_begins_anew(self):
        recording = self.record("damaged")
        part = self.interrupt(recording, self.folder / "c.mcap")
        content = bytearray(part.read_bytes())
        content[10] ^= 1
        part.write_bytes(content)
        again = recording.download(self.folder / "c.mcap")
        self.assertEqual(again.resumed_at, 0)
        self.assertEqual(again.sha256, recording.download(self.folder / "d.mcap").sha256)

    def test_bytes_after_the_last_note_are_not_trusted(self):
        recording = self.record("torn")
        part = self.interrupt(recording, self.folder / "e.mcap")
        with part.open("ab") as file:
            file.write(b"torn")
        again = recording.download(self.folder / "e.mcap")
        self.assertEqual(again.resumed_at, 3 * CHUNK)
        self.assertEqual(again.sha256, recording.download(self.folder / "f.mcap").sha256)

    def test_another_recording_of_that_name_begins_anew(self):
        recording = self.record("same")
        part = self.interrupt(recording, self.folder / "g.mcap")
        note = json.loads((part.with_name(part.name + ".json")).read_text())
        recording.delete()
        other = self.record("same", scene=SCENE.replace("[1, 0, 0.2]", "[1, 0.1, 0.3]"))
        other.download(self.folder / "h.mcap")
        if other.size <= note["size"]:
            self.skipTest("the second recording is too small")
        again = other.download(self.folder / "g.mcap")
        self.assertEqual(again.resumed_at, 0)
        self.assertEqual(again.path.read_bytes(), (self.folder / "h.mcap").read_bytes())

    def test_a_part_that_looks_right_but_is_another_begins_anew(self):
        recording = self.record("forged")
        part = self.interrupt(recording, self.folder / "i.mcap")
        content = bytearray(part.read_bytes())
        content[10] ^= 1
        part.write_bytes(content)
        note = part.with_name(part.name + ".json")
        kept = json.loads(note.read_text())
        note.write_text(json.dumps({**kept, "sha256": hashlib.sha256(content).hexdigest()}))
        again = recording.download(self.folder / "i.mcap")
        self.assertEqual(again.resumed_at, 0)
        self.assertEqual(again.sha256, recording.download(self.folder / "j.mcap").sha256)

    def test_what_is_wrong_is_named(self):
        recording = self.record("wrong", steps=5)
        with self.assertRaisesRegex(pliant.InvalidRequest, "is a folder; name a file"):
            recording.download(self.folder)
        with self.assertRaisesRegex(pliant.InvalidRequest, "cannot be written"):
            recording.download(self.folder / "no/such/folder.mcap")
        with self.assertRaisesRegex(pliant.UnknownName, 'did you mean "wrong"'):
            self.server.recording("wrongg")


if __name__ == "__main__":
    unittest.main()
