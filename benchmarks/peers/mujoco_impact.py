"""Drops rigid bodies on the ground in MuJoCo, over all phases of a step, and prints overlap and rebound as JSON.

    python3 mujoco_impact.py CASES.json

The cases: {"phases": n, "friction": μ, "cases": [{"shape": "box" | "sphere" | "capsule", "size": as in MuJoCo, "height": of the
origin above the lowest point [m], "speed": m/s, "time_step": s}]}. Contact parameters are MuJoCo's defaults.
"""

import json
import sys

import mujoco

MODEL = """
<mujoco><option timestep="{h}"/>
<worldbody><geom type="plane" size="5 5 1" friction="{mu} 0.005 0.0001"/>
<body><freejoint/><geom type="{shape}" size="{size}" density="1000" friction="{mu} 0.005 0.0001"/></body>
</worldbody></mujoco>"""


def fall(model, data, case, phase):
    h = case["time_step"]
    mujoco.mj_resetData(model, data)
    # arrives in the third step
    data.qpos[2] = case["height"] + (2 + phase) * h * case["speed"]
    data.qvel[2] = -case["speed"]
    overlap = rebound = 0.0
    for _ in range(max(12, int(0.2 / h))):
        mujoco.mj_step(model, data)
        overlap = max(overlap, case["height"] - data.qpos[2])
        rebound = max(rebound, data.qvel[2])
    return overlap, rebound


def main():
    given = json.load(open(sys.argv[1]))
    results = []
    for case in given["cases"]:
        model = mujoco.MjModel.from_xml_string(MODEL.format(
            h=case["time_step"], mu=given["friction"], shape=case["shape"],
            size=" ".join(str(x) for x in case["size"])))
        data = mujoco.MjData(model)
        falls = [fall(model, data, case, (k + 0.5) / given["phases"]) for k in range(given["phases"])]
        results.append({"overlap_mm": 1e3 * max(f[0] for f in falls),
                        "rebound": max(f[1] for f in falls), "least_rebound": min(f[1] for f in falls)})
    print(json.dumps({"version": mujoco.__version__, "cases": results}))


main()
