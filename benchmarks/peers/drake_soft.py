"""Steps the soft bodies of a case in Drake on one thread and prints the timings and results as JSON.

    python3 drake_soft.py CASE.json

The case: {"time_step": s, "duration": s, "from": s, "friction": μ, "gravity": [3], "ground": bool, "hook": volume mesh
(VTK) or null, "bodies": [{"mesh": VTK, "position": [3], "rpy": [3]}], "material": {"E": Pa, "nu": …, "rho": kg/m³, "beta": s}}.
Uses Drake's lagged linear corotational material, SAP at its default tolerance (1e-6), and discrete contact.
Milliseconds are processor time.
"""

import importlib.metadata
import json
import os
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
    plant.mutable_gravity_field().set_gravity_vector(case["gravity"])
    if case["ground"]:
        # in Drake half-spaces do not collide with deformable bodies
        plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform([0, 0, -0.5]), Box(8, 8, 1), "ground",
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


def is_sampled(step, first, count):
    """Same sampling as in benchmarks/soft_peers.cc."""
    return step >= first and (step == count - 1 or (step - first) % max(1, (count - first) // 5) == 0)


def main():
    case = json.load(open(sys.argv[1]))
    diagram, plant, bodies = build(case)
    simulator = Simulator(diagram)
    simulator.Initialize()
    h, stopped = case["time_step"], None
    count, first = round(case["duration"] / h), round(case["from"] / h)
    times, contacts, speeds, samples = [], [], [], []
    context = plant.GetMyContextFromRoot(simulator.get_context())
    model = plant.deformable_model()
    for k in range(count):
        start = time.process_time()
        try:
            simulator.AdvanceTo((k + 1) * h)
        except RuntimeError as error:  # the solver failed; keep the results up to here
            stopped = f"step {k + 1}: " + str(error).split(". ")[0]
            break
        times.append(1e3 * (time.process_time() - start))
        results = plant.get_contact_results_output_port().Eval(context)
        contacts.append(sum(results.deformable_contact_info(i).contact_mesh().num_faces()
                            for i in range(results.num_deformable_contacts())))
        # one column per node
        speeds.append(max(float(np.linalg.norm(model.GetVelocities(context, body), axis=0).max()) for body in bodies))
        if is_sampled(k, first, count):
            samples.append([np.array(model.GetPositions(context, body)).T.ravel().tolist() for body in bodies])
        if time.process_time() > case.get("time_limit_s", 240):
            stopped = f"step {k + 1}: out of time"
            break
    print(json.dumps({"version": importlib.metadata.version("drake"), "stopped": stopped, "step_ms": times,
                      "contacts": contacts, "speed": speeds, "samples": samples}))


main()
