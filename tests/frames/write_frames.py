"""Writes frames.json beside it: frames of a real server as bytes, and the numbers that they encode, for the tests of the
clients in all languages. It takes the schema from the server's reflection and decodes as docs/api.md says, in the
simplest way.

write_frames.py PLIANTD    with grpcio and protobuf installed, as for tests/reflection
"""

import base64
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "reflection"))

import grpc  # noqa: E402
from reflected import Reflected  # noqa: E402

SCENE = """name: frames
time_step: 0.01
bodies:
  - {name: table, rigid: {motion: FIXED, pose: {position: [0, 0, -0.05]}, shapes: [{box: {size: [2, 2, 0.1]}}]}}
  - {name: paddle, rigid: {motion: KINEMATIC, pose: {position: [-0.5, 0, 0.2]}, shapes: [{box: {size: [0.02, 0.2, 0.2]}}]}}
  - {name: cube, rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.05]}, shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.03}
      pose: {position: [0.3, 0, 0.06]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
probes:
  - {name: cube_p, position: {body: cube}}
  - {name: strain, field: {body: ball, measure: VON_MISES_STRAIN, reduce: MAX}}
"""
FIELDS = ["FIELD_MEASURE_VON_MISES_STRAIN", "FIELD_MEASURE_VELOCITY"]
UNSPECIFIED, FLOAT32, FLOAT64, COMPACT = range(4)  # Precision


def numbers(content, form):
    return [number for (number,) in struct.iter_unpack("<" + form, content)]


def positions_of(body):
    if body.precision in (FLOAT32, FLOAT64):
        return numbers(body.positions, "f" if body.precision == FLOAT32 else "d")
    return [body.origin[i % 3] + body.scale[i % 3] * k for i, k in enumerate(numbers(body.positions, "h"))]


def values_of(field):
    if field.precision in (FLOAT32, FLOAT64):
        return numbers(field.values, "f" if field.precision == FLOAT32 else "d")
    form, largest = ("B", 255) if field.precision == COMPACT else ("H", 65535)
    return [field.min + (field.max - field.min) * k / largest for k in numbers(field.values, form)]


def expect(frame, world, measures):
    """Numbers of a frame, without the bodies and parts that it omits."""
    names = [body.name for body in [*world.rigid_bodies, *world.deformables]]
    expected = {"step": frame.step, "time": frame.time, "keyframe": frame.keyframe, "epoch": frame.epoch,
                "rigid": {}, "positions": {}, "fields": {}, "probes": {}, "forces": {}}
    for body in frame.rigid:
        expected["rigid"][world.rigid_bodies[body.body].name] = list(body.pose)
    for body in frame.deformables:
        expected["positions"][world.deformables[body.body].name] = positions_of(body)
    for field in frame.fields:
        of = expected["fields"].setdefault(world.deformables[field.body].name, {})
        of[measures[field.measure]] = {"components": field.components, "unit": field.unit, "values": values_of(field)}
    for probe in frame.probes:
        expected["probes"][world.probes[probe.probe]] = list(probe.values)
    for i, body in enumerate(frame.forces.bodies):
        expected["forces"][names[body]] = list(frame.forces.forces[3 * i:3 * i + 3])
    return expected


def encode(message):
    return base64.b64encode(message.SerializeToString(deterministic=True)).decode()


class Writer:
    def __init__(self, client):
        self.client = client
        self.call("CreateWorld", world_id="w", scene_yaml=SCENE)
        self.world = self.call("DescribeWorld", name="worlds/w")
        self.frames = []

    def call(self, method, **fields):
        return self.client.call("WorldService", method, **fields)

    def step(self, steps=1, **choices):
        choices = {"fields": FIELDS, "probes": ["cube_p", "strain"], **choices}
        frame = self.call("StepWorld", name="worlds/w", steps=steps, frame=choices).frame
        for time in ("step_seconds", "phase_seconds", "real_time_rate", "lag"):  # they differ from run to run
            frame.report.ClearField(time)
        frame.ClearField("clock")
        return frame

    def add(self, name, frame):
        measures = frame.DESCRIPTOR.fields_by_name["fields"].message_type.fields_by_name["measure"].enum_type
        names = {value.number: value.name for value in measures.values}
        self.frames.append({"name": name, "bytes": encode(frame), "expected": expect(frame, self.world, names)})

    def write(self):
        frame = self.step(15)
        frame.keyframe = True
        self.add("a keyframe: int16 positions, uint16 fields", frame)
        frame = self.step()
        frame.keyframe = False
        del frame.deformables[:]
        del frame.fields[:]
        del frame.rigid[:2]
        self.add("what has not changed is left out", frame)
        self.add("uint8 fields", self.step(precision=COMPACT))
        self.add("float32", self.step(precision=FLOAT32))
        self.add("float64", self.step(precision=FLOAT64))
        self.add("decimated", self.step(tier="TIER_DECIMATED"))
        frame = self.step()
        frame.epoch += 1
        del frame.deformables[:]
        del frame.fields[:]
        self.add("after a reset, nothing of before is left", frame)
        about = ("Frames of a Pliant server and the numbers that they stand for. `description` and `bytes` are base64 of "
                 "pliant.v1.WorldDescription and pliant.v1.Frame. Made by write_frames.py.")
        head = json.dumps({"about": about, "description": encode(self.world)}, indent=1)
        frames = ",\n".join(json.dumps(frame) for frame in self.frames)
        (HERE / "frames.json").write_text(head.removesuffix("\n}") + ',\n "frames": [\n' + frames + "\n]}\n")


def main():
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen([sys.argv[1], "serve", "--grpc-port", "0", "--http-port", "0", "--data-dir", folder],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            address = json.loads(server.stdout.readline())["grpc"]
            with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
                Writer(Reflected(channel)).write()
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: write_frames.py PLIANTD, e.g. build/release/bin/pliantd")
    main()
