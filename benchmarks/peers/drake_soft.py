"""Steps the soft bodies of a case in Drake, one thread, and prints what it took as JSON.

    python3 drake_soft.py CASE.json

The case: {"time_step": s, "duration": s, "from": s, "friction": μ, "ground": bool, "hook": volume mesh (VTK) or null,
"bodies": [{"mesh": VTK, "position": [3], "rpy": [3]}], "material": {"E": Pa, "nu": …, "rho": kg/m³, "beta": s}}.
Drake's lagged linear corotational material, SAP at its own tolerance (1e-6), discrete contact.
"""

import importlib.metadata
import json
import os
import statistics
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from pydrake.geometry import (AddContactMaterial, AddRigidHydroelasticProperties, Box, GeometryInstance, Mesh,
                              ProximityProperties)
from pydrake.math import RigidTransform, RollPitchYaw
from pydrake.multibody.fem import DeformableBodyConfig, MaterialModel
from pydrake.multibody.plant import (AddMultibodyPlant, CoulombFriction, DiscreteContactApproximation,
                                     MultibodyPlantConfig)
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder


def rigid_properties(friction, resolution):
    properties = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(friction, friction), properties=properties)
    AddRigidHydroelasticProperties(resolution_hint=resolution, properties=properties)
    return properties


def build(case):
    builder = DiagramBuilder()
    plant, scene = AddMultibodyPlant(
        MultibodyPlantConfig(time_step=case["time_step"], discrete_contact_approximation="sap"), builder)
    friction, material = case["friction"], case["material"]
    if case["ground"]:
        # half-spaces do not touch deformable bodies there
        plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform([0, 0, -0.5]), Box(4, 4, 1), "ground",
                                        rigid_properties(friction, 1.0))
    if case.get("hook"):
        plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), Mesh(case["hook"]), "hook",
                                        rigid_properties(friction, 0.1))
    model = plant.mutable_deformable_model()
    config = DeformableBodyConfig()
    config.set_youngs_modulus(material["E"])
    config.set_poissons_ratio(material["nu"])
    config.set_mass_density(material["rho"])
    config.set_mass_damping_coefficient(0.0)
    config.set_stiffness_damping_coefficient(material["beta"])
    config.set_material_model(MaterialModel.kLinearCorotated)
    bodies = []
    for i, body in enumerate(case["bodies"]):
        pose = RigidTransform(RollPitchYaw(body["rpy"]), body["position"])
        instance = GeometryInstance(pose, Mesh(body["mesh"]), f"body_{i}")
        properties = ProximityProperties()
        AddContactMaterial(friction=CoulombFriction(friction, friction), properties=properties)
        instance.set_proximity_properties(properties)
        bodies.append(model.RegisterDeformableBody(instance, config, 1.0))
    plant.Finalize()
    diagram = builder.Build()
    return diagram, plant, bodies


def main():
    case = json.load(open(sys.argv[1]))
    diagram, plant, bodies = build(case)
    simulator = Simulator(diagram)
    simulator.Initialize()
    h, times, contacts, number_of_steps, stopped = case["time_step"], [], [], 0, None
    context = plant.GetMyContextFromRoot(simulator.get_context())
    for k in range(round(case["duration"] / h)):
        start = time.perf_counter()
        try:
            simulator.AdvanceTo((k + 1) * h)
        except RuntimeError as error:  # its solver gave up: what it did until then counts
            stopped = str(error).split(". ")[0]
            break
        elapsed = time.perf_counter() - start
        number_of_steps = k + 1
        results = plant.get_contact_results_output_port().Eval(context)
        times.append(1e3 * elapsed)
        contacts.append(sum(results.deformable_contact_info(i).contact_mesh().num_faces()
                            for i in range(results.num_deformable_contacts())))
        if time.process_time() > case.get("patience", 240):
            break
    if not times:
        sys.exit(stopped)
    # out of patience before the time that counts: the later half
    first = round(case["from"] / h) - 1
    if first >= len(times):
        first = len(times) // 2
    times, contacts = sorted(times[first:]), contacts[first:]
    lowest = min(float(np.min(np.array(plant.deformable_model().GetPositions(context, body))[2])) for body in bodies)
    print(json.dumps({"version": importlib.metadata.version("drake"), "steps": len(times), "from_step": first,
                      "contacts_mean": statistics.mean(contacts), "lowest_m": lowest,
                      "time_simulated": number_of_steps * h, "stopped": stopped,
                      "step_ms": {"median": statistics.median(times), "p95": times[int(0.95 * (len(times) - 1))]}}))


main()
