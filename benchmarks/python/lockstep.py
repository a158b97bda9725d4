"""Measures lockstep of 64 worlds from Python, compared with C++ programs on the same worlds, and decoding of frames.

lockstep.py PLIANTD [--json FILE]    as `./dev bench python` runs it
"""

import argparse
import json
import os
import pathlib
import queue
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import numpy as np

import pliant
from pliant.description import Description
from pliant.frames import Decoder
from pliant.v1 import stream_pb2, world_pb2

WORLDS = 64
SECONDS = 3
VERTICES = 20_000
SOURCE = pathlib.Path(__file__).resolve().parents[2]
SCENES = SOURCE / "scenes"

# The scene of `pliant_bench_server --case step_worlds`.
ONE_BODY = """name: one_body
sleeping: false
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: box, rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.05]},
     shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
"""


class RolloutCase(NamedTuple):
    """Same as in benchmarks/rollouts/cases.h, which the C++ programs use."""

    name: str
    scene: pathlib.Path
    robot: str
    home: tuple[float, ...]
    amplitude: float
    rounds: int
    probes: tuple[str, ...]
    what: str


ROLLOUTS = (
    RolloutCase(
        "rollouts_arm",
        SOURCE / "benchmarks/rollouts/arm.yaml",
        "arm",
        (0,) * 7,
        0.3,
        3000,
        ("tip",),
        "one iiwa",
    ),
    RolloutCase(
        "rollouts_grasp",
        SCENES / "iiwa_allegro.yaml",
        "robot",
        (0, 0.6, 0, -1.4, 0, 1.14, 0),
        0.1,
        150,
        ("ball", "strain"),
        "one iiwa with a hand over a soft ball",
    ),
)


def measure(step):
    """World steps per second, and the median time of a call [ms]."""
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


def bare_messages(group):
    """Measures a stream whose requests and replies stay bytes: everything except this package."""
    call = group._calls[0]
    requests = queue.SimpleQueue()
    stream = call.connection._channel.stream_stream("/pliant.v1.WorldService/Lockstep")
    replies = stream(iter(requests.get, None))
    request = call.message.SerializeToString()

    def step():
        requests.put(request)
        next(replies)

    try:
        return measure(step)
    finally:
        requests.put(None)
        replies.cancel()


def lockstep_of_bodies(server):
    """Steps free bodies, alternating with bare messages so that both see the same machine load."""
    worlds = [server.create_world(scene_yaml=ONE_BODY) for _ in range(WORLDS)]
    group = pliant.Lockstep(worlds)
    whole, bare = [], []
    for _ in range(3):
        whole.append(measure(group.step))
        bare.append(bare_messages(group))
    for world in worlds:
        world.delete()
    best = max(whole, key=lambda row: row["world_steps_per_s"])
    bare_best = max(row["world_steps_per_s"] for row in bare)
    return {
        **best,
        "bare_world_steps_per_s": bare_best,
        "ratio_to_bare": best["world_steps_per_s"] / bare_best,
    }


def lockstep_of_robots(server, case):
    """Steps robots with moving targets, because robots at rest fall asleep."""
    text = case.scene.read_text(encoding="utf-8")
    worlds = [server.create_world(scene_yaml=text, folder=SCENES) for _ in range(WORLDS)]
    joints = [f"iiwa_joint_{i}" for i in range(1, 8)]
    group = pliant.Lockstep(
        worlds, joints={case.robot: joints}, probes=case.probes, read_joints=True
    )
    phases = np.add.outer(np.arange(WORLDS), np.arange(len(joints)))

    def turn():
        for world in worlds:
            world.reset()
        calls, begun = [], time.perf_counter()
        for count in range(case.rounds):
            sent = time.perf_counter()
            seen = group.step(case.home + case.amplitude * np.sin(0.02 * count + phases))
            seen.probes, seen.joint_positions, seen.joint_velocities
            calls.append(time.perf_counter() - sent)
        return {
            "world_steps_per_s": WORLDS * case.rounds / (time.perf_counter() - begun),
            "call_ms": 1e3 * statistics.median(calls),
        }

    rows = [turn() for _ in range(3)]
    for world in worlds:
        world.delete()
    return max(rows, key=lambda row: row["world_steps_per_s"])


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
    """World steps per second of the same worlds in a C++ program; None if it is not built."""
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
    threads = str(os.cpu_count())
    in_cpp_of_row: list[dict[str, float]] = [
        {
            "cpp_client": in_cpp(
                options.pliantd, "pliant_bench_server", ["--case", "step_worlds"], "step_worlds_64x1"
            )
        },
        *(
            {
                "cpp_client": in_cpp(
                    options.pliantd, "pliant_bench_clients", ["--case", one.name], one.name
                ),
                "in_process": in_cpp(
                    options.pliantd,
                    "pliant_bench",
                    ["rollouts", "--case", one.name, "--threads", "1"],
                    one.name,
                ),
                "in_process_all_threads": in_cpp(
                    options.pliantd,
                    "pliant_bench",
                    ["rollouts", "--case", one.name, "--threads", threads],
                    one.name,
                ),
            }
            for one in ROLLOUTS
        ),
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
                    {"case": "one body, 64 worlds", **lockstep_of_bodies(server)},
                    *(
                        {
                            "case": f"{one.what}, 64 worlds, 7 actions, joints and probes",
                            **lockstep_of_robots(server, one),
                        }
                        for one in ROLLOUTS
                    ),
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
