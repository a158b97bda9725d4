"""Evaluates the dynamics of a URDF, SDF or MJCF file in Drake."""

import logging
import pathlib
import re

import numpy as np
from pydrake.common.eigen_geometry import Quaternion
from pydrake.math import RollPitchYaw, RotationMatrix
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import JacobianWrtVariable, MultibodyForces

from comparison import GRAVITY, VELOCITIES, Quantities, rotation

logging.getLogger("drake").setLevel(logging.ERROR)  # warnings about ignored elements do not matter here

KINDS = {"revolute": "hinge", "prismatic": "slide", "screw": "screw", "universal": "universal", "planar": "planar",
         "ball_rpy": "ball", "quaternion_floating": "free"}


class DrakeEngine:
    """Built without a scene graph, so that no mesh is read. Roots without a parent joint are welded
    to the world at their default pose, unless `free`."""

    def __init__(self, path, free=False):
        self.plant = plant = MultibodyPlant(time_step=0.0)
        parser = Parser(plant)
        # drop couplings between joints: they are not compared, and Drake supports them in other plants only
        text = re.sub(r"<(drake:)?mimic\b[^>]*?(/>|>.*?</(drake:)?mimic>)", "", pathlib.Path(path).read_text(), flags=re.DOTALL)
        if re.search(r"<(drake:)?spring_stiffness>\s*0*[1-9]", text) or re.search(r'type="floating"', text):
            raise ValueError("springs cannot be left out, and floating joints have other names")
        self.in_world = "<world" in text
        models = parser.AddModelsFromString(text, pathlib.Path(path).suffix[1:])
        if not free:
            for model in models:
                for index in plant.GetBodyIndices(model):
                    body = plant.get_body(index)
                    if not self._is_child(plant, body):
                        X_WB = plant.GetDefaultFloatingBaseBodyPose(body)
                        plant.WeldFrames(plant.world_frame(), body.body_frame(), X_WB)
        plant.mutable_gravity_field().set_gravity_vector([0, 0, -GRAVITY])
        for index in plant.GetJointIndices():
            joint = plant.get_joint(index)
            if joint.num_velocities() > 0 and joint.type_name() != "quaternion_floating":
                joint.set_default_damping_vector(np.zeros(joint.num_velocities()))
        plant.Finalize()
        self.models, self.context = models, plant.CreateDefaultContext()
        self.joints, self.columns, self.moving = {}, [None] * plant.num_velocities(), []
        for index in plant.GetJointIndices():
            joint = plant.get_joint(index)
            if joint.num_velocities() == 0:
                continue
            kind = KINDS[joint.type_name()]
            self.joints[self._name(joint)] = kind
            self.moving.append(joint)
            for k in range(VELOCITIES[kind]):
                self.columns[joint.velocity_start() + k] = (self._name(joint), k)

    def _name(self, element):
        """The name of a joint or body; that of its model precedes it in an SDF world."""
        model = self.plant.GetModelInstanceName(element.model_instance())
        return f"{model}::{element.name()}" if self.in_world else element.name()

    @staticmethod
    def _is_child(plant, body):
        return any(plant.get_joint(j).child_body().index() == body.index() for j in plant.GetJointIndices())

    def _vector(self, values):
        return np.array([values[joint][k] for joint, k in self.columns])

    def evaluate(self, state):
        plant, context = self.plant, self.context
        n = plant.num_velocities()
        # Drake expresses angular velocities of ball and free joints in the parent: v_drake = T v, and Ṫ v = ω × ω = 0
        q, T = np.zeros(plant.num_positions()), np.eye(n)
        for joint in self.moving:
            given = np.array(state.q[self._name(joint)])
            if self.joints[self._name(joint)] in ("ball", "free"):
                R = rotation(given[:4])
                first = joint.velocity_start()
                T[first:first + 3, first:first + 3] = R
                if self.joints[self._name(joint)] == "ball":
                    given = RollPitchYaw(RotationMatrix(R)).vector()
            q[joint.position_start():joint.position_start() + len(given)] = given
        plant.SetPositions(context, q)
        plant.SetVelocities(context, T @ self._vector(state.v))

        mass_matrix = plant.CalcMassMatrix(context)
        gravity = plant.CalcGravityGeneralizedForces(context)
        bias = plant.CalcBiasTerm(context) - gravity
        forces = MultibodyForces(plant)
        forces.mutable_generalized_forces()[:] = gravity
        effort = plant.CalcInverseDynamics(context, T @ self._vector(state.a), forces)
        plant.get_applied_generalized_force_input_port().FixValue(context, np.linalg.inv(T).T @ self._vector(state.tau))
        acceleration = plant.EvalTimeDerivatives(context).CopyToVector()[plant.num_positions():]

        links = {}
        for model in self.models:
            for index in plant.GetBodyIndices(model):
                body = plant.get_body(index)
                X = plant.EvalBodyPoseInWorld(context, body)
                J = plant.CalcJacobianSpatialVelocity(context, JacobianWrtVariable.kV, body.body_frame(), [0, 0, 0],
                                                      plant.world_frame(), plant.world_frame())
                links[self._name(body)] = (X.rotation().matrix(), X.translation(), J @ T)
        return Quantities(self.columns, T.T @ mass_matrix @ T, T.T @ bias, np.linalg.solve(T, acceleration), T.T @ effort,
                          links)
