"""Gives the bodies of a MuJoCo model inertias whose principal axes are exact.

MuJoCo stores an inertia as three moments and the orientation of their axes. It finds the moments to full precision, but
ends its search for the axes early: they are off by up to some 1e-8, and by another amount if the same mesh is turned.
A body's inertia is computed here without that error, from the numbers that MuJoCo has read and integrated: matrices in
the file are diagonalised by LAPACK, and the inertia of a mesh is the median over many orientations of the mesh.
"""

import pathlib

import mujoco
import numpy as np

ORIENTATIONS = 101
NAN = float("nan")


def _rotation(quaternion):
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, np.asarray(quaternion, dtype=float))
    return matrix.reshape(3, 3)


def _quaternion(rotation):
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, rotation.ravel())
    return quaternion


def _product(a, b):
    quaternion = np.zeros(4)
    mujoco.mju_mulQuat(quaternion, np.asarray(a, dtype=float), np.asarray(b, dtype=float))
    return quaternion


def _principal(inertia):
    """Moments and orientation of the axes of an inertia matrix."""
    moments, axes = np.linalg.eigh((inertia + inertia.T) / 2)
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    return moments, axes


def _about_centre(moments, rotation):
    return rotation @ np.diag(moments) @ rotation.T


def _name(mesh):
    return mesh.name or pathlib.PurePath(mesh.file).stem


def _mesh_inertias(spec, names):
    """{name: inertia matrix for unit mass, in the axes of the mesh's file} of meshes of a specification."""
    only = spec.copy()
    world = only.worldbody
    for element in [*world.bodies, *world.geoms, *world.lights, *world.cameras]:
        only.delete(element)
    only.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    only.compiler.inertiagrouprange = [0, 5]
    only.compiler.discardvisual = only.compiler.fusestatic = False
    meshes = [mesh for mesh in only.meshes if _name(mesh) in names]
    for mesh in meshes:
        world.add_body(name=_name(mesh)).add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=_name(mesh), mass=1,
                                                  group=0, contype=0, conaffinity=0)
    given = [np.array(mesh.refquat) for mesh in meshes]
    random = np.random.default_rng(1)
    found = {name: [] for name in names}
    for _ in range(ORIENTATIONS):
        turn = random.normal(size=4)
        turn /= np.linalg.norm(turn)
        for mesh, quaternion in zip(meshes, given):
            mesh.refquat = _product(quaternion, turn)
        model = only.compile()
        for mesh in meshes:
            mirror = np.diag(np.sign(mesh.scale))  # a mesh is turned before it is scaled
            body = model.body(_name(mesh)).id
            axes = mirror @ _rotation(turn) @ mirror @ _rotation(model.body_iquat[body])
            found[_name(mesh)].append(_about_centre(model.body_inertia[body], axes))
    return {name: np.median(inertias, axis=0) for name, inertias in found.items()}


def _geom_inertias(spec, bodies):
    """{body: [(mass, centre, inertia about the centre)]} of the geoms of bodies, in the bodies' axes.

    Bodies are numbers in spec.bodies. A body of one geom has the geom's inertia, so that the first geoms of all bodies
    are read from one model, the second ones from another.
    """
    lowest, highest = spec.compiler.inertiagrouprange
    has_mass = lambda geom: (geom.density if np.isnan(geom.mass) else geom.mass) > 0
    geoms = {b: [k for k, geom in enumerate(spec.bodies[b].geoms) if lowest <= geom.group <= highest and has_mass(geom)]
             for b in bodies}
    # turning a mesh before an uneven scaling would shear it
    turnable = {_name(mesh) for mesh in spec.meshes if np.ptp(np.abs(mesh.scale)) < 1e-12 * np.max(np.abs(mesh.scale))}
    used = {spec.bodies[b].geoms[k].meshname for b in bodies for k in geoms[b]
            if spec.bodies[b].geoms[k].type == mujoco.mjtGeom.mjGEOM_MESH}
    meshes = _mesh_inertias(spec, used & turnable)
    found = {b: [] for b in bodies}
    for place in range(max(map(len, geoms.values()), default=0)):
        single = spec.copy()
        single.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO
        single.compiler.inertiagrouprange = [0, 0]
        single.compiler.boundmass = single.compiler.boundinertia = 0  # these are for whole bodies
        single.compiler.discardvisual = single.compiler.fusestatic = False
        for b, body in enumerate(single.bodies):
            chosen = geoms.get(b, [])[place:place + 1]
            body.explicitinertial = not chosen
            body.ipos = [NAN, 0, 0] if chosen else [0, 0, 0]
            body.mass, body.inertia, body.fullinertia = 1, np.ones(3), [NAN, 0, 0, 0, 0, 0]
            for k, geom in enumerate(body.geoms):
                geom.group = 0 if k in chosen else 1
        model = single.compile()
        for b in bodies:
            if len(geoms[b]) <= place:
                continue
            body = single.bodies[b].id
            mass, axes = model.body_mass[body], _rotation(model.body_iquat[body])
            inertia = _about_centre(model.body_inertia[body], axes)
            geom = spec.bodies[b].geoms[geoms[b][place]]
            if geom.type == mujoco.mjtGeom.mjGEOM_MESH and geom.meshname in meshes:
                axes = axes @ _rotation(model.mesh_quat[model.mesh(geom.meshname).id]).T  # those of the mesh's file
                inertia = mass * axes @ meshes[geom.meshname] @ axes.T
            found[b].append((mass, model.body_ipos[body].copy(), inertia))
    return found


def _sum(parts):
    """Mass, centre and inertia about the centre of several masses."""
    mass = sum(m for m, _, _ in parts)
    centre = sum(m * x for m, x, _ in parts) / mass
    return mass, centre, sum(inertia + m * ((x - centre) @ (x - centre) * np.eye(3) - np.outer(x - centre, x - centre))
                             for m, x, inertia in parts)


def compile_with_exact_axes(spec):
    """The model of a specification."""
    policy, from_geom = spec.compiler.inertiafromgeom, mujoco.mjtInertiaFromGeom
    parts = _geom_inertias(spec, [
        b for b, body in enumerate(spec.bodies) if b > 0 and policy != from_geom.mjINERTIAFROMGEOM_FALSE and
        (policy == from_geom.mjINERTIAFROMGEOM_TRUE or not body.explicitinertial)])
    exact = spec.copy()
    exact.compiler.inertiafromgeom = from_geom.mjINERTIAFROMGEOM_FALSE
    for b, body in enumerate(exact.bodies):
        turned = np.eye(3)
        if parts.get(b):
            body.explicitinertial = True
            body.mass, body.ipos, inertia = _sum(parts[b])
        elif b > 0 and b not in parts and not np.isnan(body.fullinertia[0]):
            xx, yy, zz, xy, xz, yz = body.fullinertia
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            turned = _rotation(body.iquat)
        else:
            continue
        body.inertia, axes = _principal(inertia)
        body.iquat = _quaternion(turned @ axes)
        body.fullinertia = [NAN, 0, 0, 0, 0, 0]
    return exact.compile()
