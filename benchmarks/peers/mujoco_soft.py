"""Steps the soft body of a case in MuJoCo's flex, one thread, and prints what it took as JSON.

    python3 mujoco_soft.py CASE.json

The case is that of drake_soft.py, with one body. Contact parameters are MuJoCo's defaults.
"""

import json
import statistics
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


def main():
    case = json.load(open(sys.argv[1]))
    material, body = case["material"], case["bodies"][0]
    points, tetrahedra = read_vtk(body["mesh"])
    volume = sum(abs(np.linalg.det(points[t[1:]] - points[t[0]])) / 6 for t in tetrahedra)
    xml = f"""<mujoco>
  <option timestep="{case['time_step']}" integrator="discrete" gravity="0 0 -9.81"/>
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
    h, times = case["time_step"], []
    for k in range(round(case["duration"] / h)):
        start = time.perf_counter()
        mujoco.mj_step(model, data)
        elapsed = time.perf_counter() - start
        if (k + 1) * h > case["from"] - 1e-9:
            times.append(1e3 * elapsed)
    times.sort()
    print(json.dumps({"version": mujoco.__version__, "steps": len(times), "contacts": int(data.ncon),
                      "lowest_m": float(data.flexvert_xpos[:, 2].min()),
                      "warnings": int(sum(w.number for w in data.warning)),
                      "step_ms": {"median": statistics.median(times), "p95": times[int(0.95 * (len(times) - 1))]}}))


main()
