"""Lockstep of 64 worlds from one Python process, beside the same worlds stepped by a C++ client; and decoding.

lockstep.py PLIANTD [--json FILE]    as `./dev bench python` runs it
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import pliant
from pliant.description import Description
from pliant.frames import Decoder
from pliant.v1 import stream_pb2, world_pb2

WORLDS = 64
SECONDS = 3
VERTICES = 20_000
SCENES = pathlib.Path(__file__).resolve().parents[2] / "scenes"

# The scene of `pliant_bench_server --case step_worlds`.
ONE_BODY = """name: one_body
sleeping: false
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: box, rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.05]},
     shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
"""
ONE_ROBOT = """name: one_robot
robots:
  - {name: arm, file: robots/iiwa14.urdf, actuators: [{joint: ".*", pd: {stiffness: 1000, damping: 50}}]}
probes:
  - {name: tip, position: {link: arm/iiwa_link_7, point: [0, 0, 0]}}
"""


def measure(step):
    """World steps a second, and the median of a call."""
    for _ in range(20):
        step()
    calls, begun = [], time.perf_counter()
    while time.perf_counter() - begun < SECONDS:
        sent = time.perf_counter()
        step()
        calls.append(time.perf_counter() - sent)
    return {
        "world_steps_per_s": WORLDS * len(calls) / (time.perf_counter() - begun),
        "call_ms": 1e3 * statistics.median(calls),
    }


def bare_calls(group):
    """What calls take whose requests and replies stay bytes: all but this package."""
    call = group._calls[0]
    send = call.connection._channel.unary_unary(f"/pliant.v1.{'WorldService/StepWorlds'}")
    request = call.message.SerializeToString()
    return measure(lambda: send(request))


def lockstep(server, text, joints, probes, read_joints):
    worlds = [server.create_world(scene_yaml=text, folder=SCENES) for _ in range(WORLDS)]
    group = pliant.Lockstep(worlds, joints=joints, probes=probes, read_joints=read_joints)
    phases = np.add.outer(np.arange(WORLDS), np.arange(len(group.joints)))
    count = 0

    def step():
        nonlocal count
        count += 1
        seen = group.step(0.3 * np.sin(0.02 * count + phases) if group.joints else None)
        if probes:
            seen.probes
        if read_joints:
            seen.joint_positions, seen.joint_velocities

    # in turns, so that both meet the same load of the machine; actions that stay let robots sleep
    whole, bare = [], []
    for _ in range(3):
        whole.append(measure(step))
        if not group.joints:
            bare.append(bare_calls(group))
    for world in worlds:
        world.delete()
    best = max(whole, key=lambda row: row["world_steps_per_s"])
    if not bare:
        return best
    bare_best = max(bare, key=lambda row: row["world_steps_per_s"])
    ratio = best["world_steps_per_s"] / bare_best["world_steps_per_s"]
    return {
        **best,
        "bare_world_steps_per_s": bare_best["world_steps_per_s"],
        "ratio_to_bare": ratio,
    }


def decoding():
    random = np.random.default_rng(1)
    surface = world_pb2.TriangleMesh(vertices=[0.0] * (3 * VERTICES))
    message = world_pb2.WorldDescription(
        deformables=[world_pb2.DeformableDescription(name="b", surface=surface)]
    )
    decoder = Decoder(Description(message))
    positions = random.integers(0, 32767, (VERTICES, 3)).astype("<i2").tobytes()
    frame = stream_pb2.Frame(
        deformables=[stream_pb2.DeformableFrame(positions=positions, origin=[0] * 3, scale=[1] * 3)]
    )
    frame.fields.add(measure=1, max=1, components=1, values=bytes(2 * VERTICES))
    received, times = frame.SerializeToString(), []
    for _ in range(300):
        begun = time.perf_counter()
        body = decoder.decode(stream_pb2.Frame.FromString(received))["b"]
        body.positions, body.field("VON_MISES_STRAIN")
        times.append(time.perf_counter() - begun)
    return {"decode_ms": 1e3 * statistics.median(times), "goal": {"decode_ms": 1}}


def in_cpp(pliantd, program, arguments, row):
    """World steps a second of the same worlds in a C++ program, where it is built."""
    program = pathlib.Path(pliantd).with_name(program)
    if not program.exists():
        return None
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run(
            [program, *arguments, "--json", file.name], check=True, stdout=subprocess.DEVNULL
        )
        rows = json.loads(pathlib.Path(file.name).read_text())["rows"]
    return next(one["world_steps_per_s"] for one in rows if one["case"] == row)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pliantd")
    parser.add_argument("--json")
    options = parser.parse_args()
    in_cpp_of_row: list[dict[str, float]] = [
        {
            "cpp_client": in_cpp(
                options.pliantd, "pliant_bench_server", ["--case", "step_worlds"], "step_worlds_64x1"
            )
        },
        {
            "cpp_client": in_cpp(
                options.pliantd, "pliant_bench_clients", ["--case", "rollouts"], "rollouts"
            ),
            "in_process": in_cpp(
                options.pliantd, "pliant_bench", ["rollouts", "--threads", "1"], "rollouts"
            ),
            "in_process_all_threads": in_cpp(
                options.pliantd,
                "pliant_bench",
                ["rollouts", "--threads", str(os.cpu_count())],
                "rollouts",
            ),
        },
    ]
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [
                options.pliantd,
                "serve",
                "--grpc-port",
                "0",
                "--http-port",
                "0",
                "--data-dir",
                folder,
                "--max-worlds",
                "100",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            with pliant.connect(json.loads(process.stdout.readline())["grpc"]) as server:
                rows = [
                    {"case": "one body, 64 worlds", **lockstep(server, ONE_BODY, {}, (), False)},
                    {
                        "case": "one iiwa, 64 worlds, 7 actions, joints and a probe",
                        **lockstep(server, ONE_ROBOT, {"arm": None}, ("tip",), True),
                    },
                    {"case": f"decoding {VERTICES} vertices and a field", **decoding()},
                ]
        finally:
            process.terminate()
            process.wait()
    for row, cpp in zip(rows, in_cpp_of_row):
        for baseline, steps in cpp.items():
            if steps is not None:
                row[f"{baseline}_world_steps_per_s"] = steps
                row[f"ratio_to_{baseline}"] = row["world_steps_per_s"] / steps
    machine = {
        line.partition(":")[2].strip()
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    }
    print(f"{', '.join(machine)}; Python {sys.version.split()[0]}")
    for row in rows:
        print(
            "  ".join(
                f"{key} {value:,.4g}" if isinstance(value, float) else f"{key} {value}"
                for key, value in row.items()
            )
        )
    if options.json:
        pathlib.Path(options.json).write_text(
            json.dumps({"suite": "python", "machine": sorted(machine), "rows": rows}, indent=1)
        )


if __name__ == "__main__":
    main()
