"""Evaluates the dynamics of a URDF or MJCF file in MuJoCo."""

import pathlib
import re
import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np

from comparison import GRAVITY, Quantities
from mujoco_inertia import compile_with_exact_axes

DRAKE = "{http://drake.mit.edu}"


def _text_of_urdf(path):
    """The URDF without shapes (no mesh is read, and inertias are those of the file), with fixed links kept separate."""
    text = path.read_text()
    if "xmlns:drake" not in text:
        text = text.replace("<robot ", f'<robot xmlns:drake="{DRAKE[1:-1]}" ', 1)
    root = ElementTree.fromstring(text)
    for link in root.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    for name in ("mujoco", "material"):
        for element in root.findall(name):
            root.remove(element)
    options = ElementTree.SubElement(root, "mujoco")
    ElementTree.SubElement(options, "compiler", fusestatic="false", discardvisual="false", inertiafromgeom="false")
    return ElementTree.tostring(root, encoding="unicode"), root


def _rotors_of_urdf(root):
    """{joint: reflected rotor inertia}, which MuJoCo does not read from URDF."""
    rotors = {}
    for transmission in root.iter("transmission"):
        actuator, joint = transmission.find("actuator"), transmission.find("joint")
        if actuator is None or joint is None:
            continue
        number = lambda tag, default: float(
            actuator.find(DRAKE + tag).get("value")) if actuator.find(DRAKE + tag) is not None else default
        rotors[joint.get("name")] = number("rotor_inertia", 0.0) * number("gear_ratio", 1.0)**2
    return rotors


def _without_flexes(path):
    """The specification of an MJCF file; the bodies that MuJoCo makes of the nodes of deformable bodies are removed."""
    spec = mujoco.MjSpec.from_file(str(path))
    nodes = {name for flex in spec.flexes for name in [*flex.vertbody, *flex.nodebody]}
    if spec.flexes:
        for kind in (spec.flexes, spec.equalities, spec.skins, spec.excludes, spec.pairs, spec.sensors, spec.actuators,
                     spec.tendons, spec.keys):
            for element in list(kind):
                spec.delete(element)
        for body in list(spec.bodies):
            if body.name in nodes and body.name != "world" and not body.geoms:
                spec.delete(body)
    return spec


def _names(model):
    """Names of bodies and joints, those that Pliant makes up included."""
    bodies = [model.body(b).name or f"body{b}" for b in range(model.nbody)]
    joints = []
    for j in range(model.njnt):
        b = model.jnt_bodyid[j]
        of_several = str(j - model.body_jntadr[b] + 1) if model.body_jntnum[b] > 1 else ""
        joints.append(model.joint(j).name or f"{bodies[b]}_joint{of_several}")
    return bodies, joints


class MujocoEngine:
    """`exact_axes` are those of inertias, see mujoco_inertia."""

    def __init__(self, path, exact_axes=False):
        path = pathlib.Path(path)
        rotors = {}
        if re.search(r"<robot\b", path.read_text()):
            text, root = _text_of_urdf(path)
            rotors = _rotors_of_urdf(root)
            spec = mujoco.MjSpec.from_string(text)
        else:
            spec = _without_flexes(path)
        model = compile_with_exact_axes(spec) if exact_axes else spec.compile()
        # disable everything but the kinematic tree
        for flag in (mujoco.mjtDisableBit.mjDSBL_CONSTRAINT, mujoco.mjtDisableBit.mjDSBL_CONTACT,
                     mujoco.mjtDisableBit.mjDSBL_ACTUATION):
            model.opt.disableflags |= flag
        model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
        model.opt.gravity[:] = [0, 0, -GRAVITY]
        model.opt.density = model.opt.viscosity = 0
        model.opt.wind[:] = 0
        model.dof_damping[:] = 0
        model.jnt_stiffness[:] = 0
        model.jnt_actgravcomp[:] = 0  # gravity is compensated by passive forces, not by actuators
        model.tendon_damping[:] = model.tendon_stiffness[:] = 0
        kinds = {mujoco.mjtJoint.mjJNT_FREE: "free", mujoco.mjtJoint.mjJNT_BALL: "ball",
                 mujoco.mjtJoint.mjJNT_SLIDE: "slide", mujoco.mjtJoint.mjJNT_HINGE: "hinge"}
        self.model, self.data = model, mujoco.MjData(model)
        self.bodies, self.names = _names(model)
        self.joints, self.columns = {}, [None] * model.nv
        for j in range(model.njnt):
            joint = model.joint(j)
            kind = kinds[mujoco.mjtJoint(joint.type[0])]
            name = self.names[j]
            self.joints[name] = kind
            first = joint.dofadr[0]
            if name in rotors:
                model.dof_armature[first] = rotors[name]
            # MuJoCo orders velocities of a free joint as linear, then angular in the body's frame
            order = {"free": [3, 4, 5, 0, 1, 2], "ball": [0, 1, 2]}.get(kind, [0])
            for k, index in enumerate(order):
                self.columns[first + k] = (name, index)

    def _vector(self, values):
        return np.array([values[joint][k] for joint, k in self.columns])

    def evaluate(self, state):
        model, data = self.model, self.data
        for j in range(model.njnt):
            joint = model.joint(j)
            q = state.q[self.names[j]]
            if self.joints[self.names[j]] == "free":
                q = [*q[4:], *q[:4]]
            data.qpos[joint.qposadr[0]:joint.qposadr[0] + len(q)] = q
        data.qvel[:] = self._vector(state.v)
        data.qfrc_applied[:] = self._vector(state.tau)
        mujoco.mj_forward(model, data)
        mass_matrix = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, mass_matrix)
        # MuJoCo counts gravity compensation as a passive force
        bias, acceleration = data.qfrc_bias - data.qfrc_gravcomp, data.qacc.copy()
        links = {}
        for b in range(1, model.nbody):
            jacobian = np.zeros((6, model.nv))
            mujoco.mj_jacBody(model, data, jacobian[3:], jacobian[:3], b)
            links[self.bodies[b]] = (data.xmat[b].reshape(3, 3).copy(), data.xpos[b].copy(), jacobian)
        data.qacc[:] = self._vector(state.a)
        mujoco.mj_inverse(model, data)
        return Quantities(self.columns, mass_matrix, bias, acceleration, data.qfrc_inverse.copy(), links)
