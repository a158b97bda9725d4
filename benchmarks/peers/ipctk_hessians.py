"""Computes Hessians of contact and friction by the IPC Toolkit on one thread and prints the times as JSON.

    python3 ipctk_hessians.py CASE.json

CASE.json: vertices [m], velocities [m/s], triangles, distance at which contacts begin [m], stick_speed [m/s], friction.
Times are those of the assembled sparse Hessian, divided by the number of contacts.
"""

import importlib.metadata
import json
import statistics
import sys
import time

import ipctk
import numpy as np

ROUNDS = 21


def measure(calc):
    calc()
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        calc()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def main():
    case = json.load(open(sys.argv[1]))
    ipctk.set_num_threads(1)
    vertices = np.asfortranarray(np.array(case["vertices"]))
    velocities = np.asfortranarray(np.array(case["velocities"]))
    triangles = np.asfortranarray(np.array(case["triangles"], np.int32))
    edges = ipctk.edges(triangles)
    mesh = ipctk.CollisionMesh(vertices, edges, triangles)
    collisions = ipctk.NormalCollisions()
    collisions.build(mesh, vertices, case["distance"])
    barrier = ipctk.BarrierPotential(case["distance"], 1.0e4)
    frictional = ipctk.TangentialCollisions()
    frictional.build(mesh, vertices, collisions, barrier, case["friction"])
    friction = ipctk.FrictionPotential(case["stick_speed"])
    contact = measure(lambda: barrier.hessian(collisions, mesh, vertices))
    of_friction = measure(lambda: friction.hessian(frictional, mesh, velocities))
    print(json.dumps({"version": importlib.metadata.version("ipctk"), "contacts": len(collisions),
                      "contact_us": 1e6 * contact / len(collisions),
                      "friction_us": 1e6 * of_friction / len(frictional)}))


main()
