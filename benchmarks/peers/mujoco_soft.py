"""Steps the soft body of a case as a MuJoCo flex on one thread and prints the timings and results as JSON.

    python3 mujoco_soft.py CASE.json

The case has the format of drake_soft.py, with one body. Contact parameters are MuJoCo's defaults. Milliseconds are
processor time.
"""

import json
import sys
import time

import mujoco
import numpy as np


def read_vtk(path):
    words = open(path).read().split()
    count = int(words[words.index("POINTS") + 1])
    start = words.index("POINTS") + 3
    points = np.array(words[start:start + 3 * count], float).reshape(-1, 3)
    cells = int(words[words.index("CELLS") + 1])
    start = words.index("CELLS") + 3
    return points, np.array(words[start:start + 5 * cells], int).reshape(-1, 5)[:, 1:]


def numbers(array):
    return " ".join(repr(x) for x in np.asarray(array).ravel().tolist())


def is_sampled(step, first, count):
    """Same sampling as in benchmarks/soft_peers.cc."""
    return step >= first and (step == count - 1 or (step - first) % max(1, (count - first) // 5) == 0)


def main():
    case = json.load(open(sys.argv[1]))
    material, body = case["material"], case["bodies"][0]
    points, tetrahedra = read_vtk(body["mesh"])
    volume = sum(abs(np.linalg.det(points[t[1:]] - points[t[0]])) / 6 for t in tetrahedra)
    xml = f"""<mujoco>
  <option timestep="{case['time_step']}" integrator="discrete" gravity="{numbers(case['gravity'])}"/>
  <worldbody>
    <geom type="plane" size="0 0 1" friction="{case['friction']} 0 0"/>
    <flexcomp name="soft" type="direct" dim="3" pos="{numbers(body['position'])}" radius="0.001" rgba="1 1 1 1"
              mass="{material['rho'] * volume}" point="{numbers(points)}" element="{numbers(tetrahedra)}">
      <elasticity young="{material['E']}" poisson="{material['nu']}" damping="{material['beta']}"/>
      <contact friction="{case['friction']} 0 0" selfcollide="none"/>
    </flexcomp>
  </worldbody>
</mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    h = case["time_step"]
    count, first = round(case["duration"] / h), round(case["from"] / h)
    times, contacts, speeds, samples = [], [], [], []
    before = np.array(data.flexvert_xpos)
    for k in range(count):
        start = time.process_time()
        mujoco.mj_step(model, data)
        times.append(1e3 * (time.process_time() - start))
        contacts.append(int(data.ncon))
        now = np.array(data.flexvert_xpos)
        speeds.append(float(np.linalg.norm(now - before, axis=1).max()) / h)
        before = now
        if is_sampled(k, first, count):
            samples.append([now.ravel().tolist()])
    print(json.dumps({"version": mujoco.__version__, "stopped": None, "step_ms": times, "contacts": contacts,
                      "speed": speeds, "samples": samples,
                      "warnings": int(sum(w.number for w in data.warning))}))


main()
