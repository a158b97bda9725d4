"""Steps the model of a case in MuJoCo on one thread and prints the timings and results as JSON.

    python3 mujoco_robots.py CASE.json

The case: {"kind": "boxes" | "humanoid" | "dynamics", "file": …, "time_step": s, "friction": μ, "density": kg/m³,
"boxes": [{"size": [3], "position": [3], "quaternion": [4]}], "walls": [{"size": [3], "position": [3]}], "places": [[x, y, z]],
"phases": {name: [from, to]}}.
Solver, cone and contact parameters are MuJoCo's defaults; sleeping and islands are allowed.
"""

import json
import pathlib
import statistics
import sys
import time
import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np

RUNS = 3


def box_model(case):
    root = ElementTree.Element("mujoco")
    world = ElementTree.SubElement(root, "worldbody")
    for box in case["boxes"]:
        body = ElementTree.SubElement(world, "body", pos=text(box["position"]), quat=text(box["quaternion"]))
        ElementTree.SubElement(body, "freejoint")
        ElementTree.SubElement(body, "geom", type="box", size=text(0.5 * np.array(box["size"])),
                               density=str(case["density"]), friction=f"{case['friction']} 0 0")
    for wall in case.get("walls", []):
        ElementTree.SubElement(world, "geom", type="box", size=text(0.5 * np.array(wall["size"])),
                               pos=text(wall["position"]), friction=f"{case['friction']} 0 0")
    return root


def robot_model(case):
    """The robot at each place, attached to an empty world."""
    spec = mujoco.MjSpec()
    for i, place in enumerate(case["places"]):
        child = mujoco.MjSpec.from_file(case["file"])
        for geom in child.geoms:
            geom.friction[:] = [case["friction"], 0, 0]
        frame = spec.worldbody.add_frame(pos=place)
        spec.attach(child, prefix=f"r{i}/", frame=frame)
    return spec


def text(numbers):
    return " ".join(repr(float(x)) for x in numbers)


def make(case):
    if case["kind"] == "boxes":
        spec = mujoco.MjSpec.from_string(ElementTree.tostring(box_model(case), encoding="unicode"))
    else:
        spec = robot_model(case)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], friction=[case["friction"], 0, 0])
    spec.option.timestep = case["time_step"]
    spec.option.gravity = [0, 0, -9.81]
    spec.option.enableflags |= mujoco.mjtEnableBit.mjENBL_SLEEP
    return spec.compile()


def slip_of_sticking(model, data):
    """Largest tangential speed of contacts whose force is well inside the friction cone [m/s]."""
    worst = 0.0
    force = np.zeros(6)
    jac = [np.zeros((3, model.nv)) for _ in range(2)]
    for i, contact in enumerate(data.contact):
        if contact.efc_address < 0:
            continue
        mujoco.mj_contactForce(model, data, i, force)
        if force[0] <= 0 or np.hypot(force[1], force[2]) > 0.9 * contact.friction[0] * force[0]:
            continue
        for k in range(2):
            mujoco.mj_jac(model, data, jac[k], None, contact.pos, model.geom_bodyid[contact.geom[k]])
        v = contact.frame.reshape(3, 3) @ ((jac[1] - jac[0]) @ data.qvel)
        worst = max(worst, float(np.hypot(v[1], v[2])))
    return worst


def free_positions(model, data):
    return np.array([data.xpos[b] for b in range(1, model.nbody)])


def measure(case):
    model = make(case)
    h = case["time_step"]
    result = {}
    times = {name: [] for name in case["phases"]}
    # times of steps in which the warm start sufficed, and of those in which the solver iterated
    kinds = {name: {"warm": [], "solved": []} for name in case["phases"]}
    for run in range(RUNS):
        data = mujoco.MjData(model)
        for k in range(round(max(to for _, to in case["phases"].values()) / h)):
            start = time.perf_counter()
            mujoco.mj_step(model, data)
            elapsed = time.perf_counter() - start
            for name, (begin, end) in case["phases"].items():
                if begin / h <= k < end / h:
                    times[name].append(1e3 * elapsed)
                    kind = "solved" if int(np.sum(data.solver_niter[:max(1, data.nisland)])) > 0 else "warm"
                    kinds[name][kind].append(1e3 * elapsed)
    for name in case["phases"]:
        x = sorted(times[name])
        result[name] = {"step_ms": {"median": statistics.median(x), "p95": x[int(0.95 * (len(x) - 1))]}}
        for kind, ms in kinds[name].items():
            result[name][f"{kind}_steps"] = len(ms) // RUNS
            if ms:
                result[name][f"{kind}_ms"] = statistics.median(ms)
    # run once more without timing, to measure penetration, slip and drift
    data = mujoco.MjData(model)
    last = max(to for _, to in case["phases"].values())
    seen = {name: {"penetration_m": 0.0, "slip_m_s": 0.0, "contacts": []} for name in case["phases"]}
    begins = {}
    for k in range(round(last / h)):
        mujoco.mj_step(model, data)
        for name, (begin, end) in case["phases"].items():
            if not begin / h <= k < end / h:
                continue
            if name not in begins:
                begins[name] = free_positions(model, data)
            row = seen[name]
            row["penetration_m"] = max([row["penetration_m"]] + [-c.dist for c in data.contact])
            row["slip_m_s"] = max(row["slip_m_s"], slip_of_sticking(model, data))
            row["contacts"].append(len(data.contact))
            moved = np.linalg.norm(free_positions(model, data) - begins[name], axis=1).max()
            row["drift_m_s"] = float(moved) / (end - begin)
    for name, row in seen.items():
        row["contacts_mean"] = statistics.mean(row.pop("contacts"))
        result[name] |= row
    return result


def dynamics(case):
    """Time of kinematics, mass matrix and bias of a robot without shapes, in a random state."""
    root = ElementTree.fromstring(pathlib.Path(case["file"]).read_text())
    for link in root.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    for tag in ("mujoco", "material"):
        for element in root.findall(tag):
            root.remove(element)
    model = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))
    data = mujoco.MjData(model)
    bias = np.zeros(model.nv)
    make_mass = getattr(mujoco, "mj_makeM", None) or mujoco.mj_crb
    rng = np.random.default_rng(1)
    data.qpos[:] = rng.uniform(-1, 1, model.nq)
    data.qvel[:] = rng.uniform(-1, 1, model.nv)
    per_call = []
    for _ in range(200):
        start = time.perf_counter()
        for _ in range(50):
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            make_mass(model, data)
            mujoco.mj_comVel(model, data)
            mujoco.mj_rne(model, data, 0, bias)
        per_call.append(1e3 * (time.perf_counter() - start) / 50)
    per_call.sort()
    # overhead of calls from Python: five calls of a trivial function
    empty = []
    for _ in range(200):
        start = time.perf_counter()
        for _ in range(250):
            mujoco.mj_getTotalmass(model)
        empty.append(1e3 * (time.perf_counter() - start) / 50)
    net = [x - statistics.median(empty) for x in per_call]
    return {"all": {"step_ms": {"median": statistics.median(net), "p95": net[int(0.95 * len(net))]},
                    "velocities": int(model.nv)}}


def main():
    case = json.loads(pathlib.Path(sys.argv[1]).read_text())
    result = dynamics(case) if case["kind"] == "dynamics" else measure(case)
    print(json.dumps({"version": mujoco.__version__, "phases": result}))


main()
