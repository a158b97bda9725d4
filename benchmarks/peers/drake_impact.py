"""Drops rigid bodies on the ground in Drake, over all phases of a step, and prints overlap and rebound as JSON.

    python3 drake_impact.py CASES.json

The cases are those of mujoco_impact.py. Contact is discrete, point contact, with SAP and Drake's defaults.
"""

import importlib.metadata
import json
import sys

import numpy as np
from pydrake.geometry import Box, Capsule, HalfSpace, Sphere
from pydrake.math import RigidTransform
from pydrake.multibody.math import SpatialVelocity
from pydrake.multibody.plant import (AddMultibodyPlant, CoulombFriction, DiscreteContactApproximation,
                                     MultibodyPlantConfig)
from pydrake.multibody.tree import SpatialInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

DENSITY = 1000


def build(case, friction):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlant(
        MultibodyPlantConfig(time_step=case["time_step"], discrete_contact_approximation="sap"), builder)
    size = case["size"]
    if case["shape"] == "box":
        shape, inertia = Box(*(2 * np.array(size))), SpatialInertia.SolidBoxWithDensity(DENSITY, *(2 * np.array(size)))
    elif case["shape"] == "sphere":
        shape, inertia = Sphere(size[0]), SpatialInertia.SolidSphereWithDensity(DENSITY, size[0])
    else:
        shape = Capsule(size[0], 2 * size[1])
        inertia = SpatialInertia.SolidCapsuleWithDensity(DENSITY, size[0], 2 * size[1], [0, 0, 1])
    body = plant.AddRigidBody("body", inertia)
    mu = CoulombFriction(friction, friction)
    plant.RegisterCollisionGeometry(body, RigidTransform(), shape, "body", mu)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", mu)
    plant.Finalize()
    return Simulator(builder.Build()), plant, body


def fall(simulator, plant, body, case, phase):
    h = case["time_step"]
    root = simulator.get_mutable_context()
    root.SetTime(0)
    context = plant.GetMyMutableContextFromRoot(root)
    # arrives in the third step
    plant.SetFreeBodyPose(context, body, RigidTransform([0, 0, case["height"] + (2 + phase) * h * case["speed"]]))
    plant.SetFreeBodySpatialVelocity(body, SpatialVelocity(np.zeros(3), np.array([0, 0, -case["speed"]])), context)
    simulator.Initialize()
    overlap = rebound = 0.0
    for k in range(max(12, int(0.2 / h))):
        simulator.AdvanceTo((k + 1) * h)
        overlap = max(overlap, case["height"] - plant.EvalBodyPoseInWorld(context, body).translation()[2])
        rebound = max(rebound, plant.EvalBodySpatialVelocityInWorld(context, body).translational()[2])
    return overlap, rebound


def main():
    given = json.load(open(sys.argv[1]))
    results = []
    for case in given["cases"]:
        simulator, plant, body = build(case, given["friction"])
        falls = [fall(simulator, plant, body, case, (k + 0.5) / given["phases"]) for k in range(given["phases"])]
        results.append({"overlap_mm": 1e3 * max(f[0] for f in falls),
                        "rebound": max(f[1] for f in falls), "least_rebound": min(f[1] for f in falls)})
    print(json.dumps({"version": importlib.metadata.version("drake"), "cases": results}))


main()
