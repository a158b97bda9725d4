"""Compares the dynamics of a robot computed from the same file by Pliant and by an independent engine.

An engine (mujoco_engine, drake_engine) has

    joints          {name: kind} of the moving joints; kind: hinge, slide, screw, universal, planar, ball or free
    evaluate(state) Quantities at a State

State uses Pliant's coordinates (physics/rigid/joint_tree.h): a quaternion and the angular velocity in the child's frame
for ball joints; free joints append the position and the velocity of the origin.
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLIANTD = os.environ.get("PLIANTD", str(ROOT / "build/release/bin/pliantd"))
GRAVITY = 9.81
STATES = 100
TOLERANCE = 1e-9  # relative, in norms
ILL_CONDITIONED = 1e6  # mass matrices of a larger condition number are ill-conditioned

VELOCITIES = {"hinge": 1, "slide": 1, "screw": 1, "universal": 2, "planar": 3, "ball": 3, "free": 6}


@dataclasses.dataclass
class State:
    """Joint values, a list per joint: positions, velocities, efforts `tau` and accelerations `a`."""
    q: dict
    v: dict
    tau: dict
    a: dict


@dataclasses.dataclass
class Quantities:
    """`columns` identify the velocities as (joint, index). `links` are {name: (R, p, J)}."""
    columns: list
    mass_matrix: np.ndarray
    bias: np.ndarray
    acceleration: np.ndarray
    effort: np.ndarray
    links: dict


def rotation(quaternion):
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def random_states(joints, seed, count=STATES):
    """Random states over the whole configuration space, ignoring limits."""
    random = np.random.default_rng(seed)

    def position(kind):
        if kind in ("ball", "free"):
            quaternion = random.normal(size=4)
            quaternion /= np.linalg.norm(quaternion)
            return [*quaternion, *(random.uniform(-2, 2, 3) if kind == "free" else [])]
        if kind == "slide":
            return [random.uniform(-0.5, 0.5)]
        if kind == "planar":
            return [*random.uniform(-1, 1, 2), random.uniform(-np.pi, np.pi)]
        return list(random.uniform(-np.pi, np.pi, VELOCITIES[kind]))

    def numbers(size):
        return {name: list(random.uniform(-size, size, VELOCITIES[kind])) for name, kind in joints.items()}

    return [State({name: position(kind) for name, kind in joints.items()}, numbers(2), numbers(10), numbers(5))
            for _ in range(count)]


class Pliant:
    """`pliantd dynamics` on a scene of one robot."""

    def __init__(self, file, base="FIXED"):
        self.file, self.base = str(file), base

    def evaluate(self, states):
        with tempfile.TemporaryDirectory() as folder:
            scene = pathlib.Path(folder) / "scene.yaml"
            scene.write_text(f"name: one\ngravity: [0, 0, -{GRAVITY}]\n"
                             f"robots: [{{name: robot, file: '{self.file}', base: {self.base}}}]\n")
            given = pathlib.Path(folder) / "states.json"
            single = lambda values: {name: x[0] if len(x) == 1 else x for name, x in values.items()}
            given.write_text(json.dumps([{"robot": "robot", "q": single(s.q), "v": single(s.v), "tau": single(s.tau),
                                          "a": single(s.a)} for s in states]))
            out = pathlib.Path(folder) / "out.json"
            done = subprocess.run([PLIANTD, "dynamics", str(scene), "--states", str(given), "--json", str(out)],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                raise RuntimeError(f"pliantd dynamics on {self.file}: status {done.returncode}\n{done.stderr}")
            return [self._read(result) for result in json.loads(out.read_text())]

    @staticmethod
    def _read(result):
        columns = []
        for name in result["joints"]:
            base, _, index = name.partition("[")
            columns.append((base, int(index[:-1]) if index else 0))
        n = len(columns)
        links = {}
        for name, pose in result["link_poses"].items():
            jacobian = np.array(result["jacobians"][name], dtype=float).reshape(6, n)
            links[name] = (rotation(np.array(pose[3:])), np.array(pose[:3]), jacobian)
        return Quantities(columns, np.array(result["mass_matrix"], dtype=float).reshape(n, n), np.array(result["bias"]),
                          np.array(result["acceleration"]), np.array(result["effort"]), links)


def differences(ours, theirs, state):
    """{quantity: relative difference in norms}. `theirs` may have fewer links and another order of columns."""
    order = [ours.columns.index(column) for column in theirs.columns]
    if sorted(order) != list(range(len(ours.columns))):
        raise AssertionError(f"velocities differ: {ours.columns} and {theirs.columns}")
    M = ours.mass_matrix[np.ix_(order, order)]
    inertia = np.linalg.norm(theirs.mass_matrix)

    def relative(x, y, floor=0.0):
        return np.linalg.norm(x - y) / max(np.linalg.norm(y), floor, 1e-300)

    # Accelerations of an ill-conditioned robot follow from rounded masses to fewer digits than the tolerance has. They
    # must be exact for masses and forces that are close to those of the other engine.
    acceleration = ours.acceleration[order]
    off = relative(acceleration, theirs.acceleration)
    if off > TOLERANCE and np.linalg.cond(theirs.mass_matrix) > ILL_CONDITIONED:
        given = np.array([state.tau[j][k] for j, k in theirs.columns]) - theirs.bias
        wrong = np.linalg.norm(theirs.mass_matrix @ acceleration - given)
        off = wrong / (inertia * np.linalg.norm(acceleration) + np.linalg.norm(given))

    # nearly vanishing forces are compared relative to those of accelerations of 1 cm/s²
    found = {
        "mass matrix": relative(M, theirs.mass_matrix),
        "bias": relative(ours.bias[order], theirs.bias, 1e-2 * inertia),
        "acceleration": off,
        "effort": relative(ours.effort[order], theirs.effort, 1e-2 * inertia),
        # inverse dynamics by Pliant's mass matrix and bias
        "M a + bias": relative(M @ np.concatenate([state.a[j][k:k + 1] for j, k in theirs.columns]) + ours.bias[order],
                               theirs.effort, 1e-2 * inertia) if theirs.columns else 0.0,
        "pose": 0.0,
        "Jacobian": 0.0,
    }
    for name, (R, p, J) in theirs.links.items():
        if name not in ours.links:
            raise AssertionError(f"Pliant has no link {name}; it has {list(ours.links)}")
        R_ours, p_ours, J_ours = ours.links[name]
        found["pose"] = max(found["pose"], relative(R_ours, R), relative(p_ours, p, 0.1))
        found["Jacobian"] = max(found["Jacobian"], relative(J_ours[:, order], J, 0.1))
    return found


def worst_differences(engine, pliant, seed, count=STATES):
    """Maximum of `differences` over random states of an engine's robot."""
    states = random_states(engine.joints, seed, count)
    worst = {}
    for state, ours in zip(states, pliant.evaluate(states)):
        for name, value in differences(ours, engine.evaluate(state), state).items():
            worst[name] = max(worst.get(name, 0.0), value)
    return worst


def report(label, worst):
    """Prints a line to the log, which `./dev test` shows on failure."""
    print(f"{label:46s} " + "  ".join(f"{name} {value:.1e}" for name, value in worst.items()), flush=True)
