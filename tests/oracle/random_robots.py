"""Random robot files: trees of random joints, frames, axes and inertias that exercise all features of the formats."""

import math

import numpy as np

numbers = lambda values: " ".join(repr(float(x)) for x in np.atleast_1d(values))


class Draw:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def vector(self, size=0.3):
        return self.random.uniform(-size, size, 3)

    def unit(self):
        if self.random.random() < 0.3:
            return np.eye(3)[self.random.integers(3)] * self.random.choice([-1, 1])
        v = self.random.normal(size=3)
        return v / np.linalg.norm(v)

    def angles(self):
        return self.random.uniform(-math.pi, math.pi, 3)

    def quaternion(self):
        q = self.random.normal(size=4)
        return q / np.linalg.norm(q)

    def mass(self):
        return self.random.uniform(0.2, 3)

    def inertia(self, mass):
        """Inertia of a few point masses, so that it is physical."""
        I = np.zeros((3, 3))
        for _ in range(4):
            r = self.vector(0.2)
            I += mass / 4 * (r @ r * np.eye(3) - np.outer(r, r))
        return I

    def parent(self, index):
        """Index of a random parent, chosen to give both chains and bushy trees."""
        return index - 1 if self.random.random() < 0.65 else int(self.random.integers(index))

    def choice(self, *options):
        return options[self.random.integers(len(options))]


def _urdf_inertia(d):
    mass = d.mass()
    I = d.inertia(mass).tolist()
    return (f'<inertial><origin xyz="{numbers(d.vector(0.1))}" rpy="{numbers(d.angles())}"/><mass value="{mass!r}"/>'
            f'<inertia ixx="{I[0][0]!r}" ixy="{I[0][1]!r}" ixz="{I[0][2]!r}" iyy="{I[1][1]!r}" iyz="{I[1][2]!r}" '
            f'izz="{I[2][2]!r}"/></inertial>')


URDF_TYPES = ("revolute", "continuous", "prismatic", "fixed")
DRAKE_TYPES = (*URDF_TYPES, "planar", "drake:screw", "drake:universal", "drake:ball")


def make_urdf(seed, count, types=URDF_TYPES):
    """A tree of `count` joints on a fixed base."""
    d = Draw(seed)
    text = [f'<robot xmlns:drake="http://drake.mit.edu" name="random_{seed}">', '<link name="link_0">', _urdf_inertia(d),
            "</link>"]
    for i in range(1, count + 1):
        kind = "revolute" if i == 1 else d.choice(*types)
        element, kind = ("drake:joint", kind[6:]) if kind.startswith("drake:") else ("joint", kind)
        text += [f'<link name="link_{i}">', _urdf_inertia(d), "</link>",
                 f'<{element} name="joint_{i}" type="{kind}"><parent link="link_{d.parent(i)}"/><child link="link_{i}"/>',
                 f'<origin xyz="{numbers(d.vector())}" rpy="{numbers(d.angles())}"/>']
        if kind == "planar":
            text.append('<axis xyz="0 0 1"/>')
        elif kind not in ("ball", "universal"):
            text.append(f'<axis xyz="{numbers(d.unit())}"/>')
        if kind in ("revolute", "prismatic"):
            text.append('<limit lower="-7" upper="7" effort="100" velocity="10"/>')
        if kind in ("revolute", "continuous", "prismatic"):
            text.append(f'<dynamics damping="{d.random.random()!r}" friction="{d.random.random()!r}"/>')
        if kind == "screw":
            text.append(f'<drake:screw_thread_pitch value="{d.random.uniform(-0.5, 0.5)!r}"/>')
        text.append(f"</{element}>")
        if kind in ("revolute", "continuous") and d.random.random() < 0.3:
            text += [f'<transmission name="t_{i}"><type>transmission_interface/SimpleTransmission</type>',
                     f'<joint name="joint_{i}"><hardwareInterface>EffortJointInterface</hardwareInterface></joint>',
                     f'<actuator name="motor_{i}"><drake:gear_ratio value="{d.random.uniform(1, 100)!r}"/>',
                     f'<drake:rotor_inertia value="{d.random.uniform(0, 1e-4)!r}"/></actuator></transmission>']
    return "\n".join([*text, "</robot>"])


def _mjcf_orientation(d, degrees):
    scale = 180 / math.pi if degrees else 1
    return d.choice(
        lambda: f'quat="{numbers(d.quaternion() * d.random.uniform(0.5, 2))}"',
        lambda: f'euler="{numbers(d.angles() * scale)}"',
        lambda: f'axisangle="{numbers([*d.unit(), d.random.uniform(-3, 3) * scale])}"',
        lambda: f'xyaxes="{numbers(d.vector())} {numbers(d.vector())}"',
        lambda: f'zaxis="{numbers(d.vector())}"',
    )()


def _mjcf_mass(d, degrees):
    mass = d.mass()
    kind = d.choice("full", "diagonal", "shapes", "shapes")
    if kind == "full":
        I = d.inertia(mass).tolist()
        given = [I[0][0], I[1][1], I[2][2], I[0][1], I[0][2], I[1][2]]
        return f'<inertial pos="{numbers(d.vector(0.1))}" mass="{mass!r}" fullinertia="{numbers(given)}"/>'
    if kind == "diagonal":
        given = np.linalg.eigvalsh(d.inertia(mass))[::-1]
        return (f'<inertial pos="{numbers(d.vector(0.1))}" {_mjcf_orientation(d, degrees)} mass="{mass!r}" '
                f'diaginertia="{numbers(given)}"/>')
    shapes = []
    for _ in range(d.random.integers(1, 4)):
        shape = d.choice("sphere", "capsule", "cylinder", "box", "ellipsoid")
        size = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}[shape]
        place = f'pos="{numbers(d.vector(0.1))}" {_mjcf_orientation(d, degrees)} size="{numbers(d.random.uniform(0.03, 0.1, size))}"'
        if shape in ("capsule", "cylinder", "box", "ellipsoid") and d.random.random() < 0.3:
            ends = numbers([*d.vector(0.1), *d.vector(0.1)])
            place = f'fromto="{ends}" size="{d.random.uniform(0.03, 0.1)!r}"'
        weight = d.choice("", 'density="500"', f'mass="{d.mass()!r}"')
        shapes.append(f'<geom type="{shape}" {place} {weight}/>')
    return "".join(shapes)


def make_mjcf(seed, count, free=False):
    """A tree of `count` joints, up to three per body, fixed to the world or with a free root."""
    d = Draw(seed)
    degrees = bool(d.random.random() < 0.5)
    bodies, made = [], 0

    def joint(kind):
        nonlocal made
        made += 1
        if kind == "ball":
            return f'<joint name="joint_{made}" type="ball" pos="{numbers(d.vector(0.1))}" {d.choice("", "armature=" + chr(34) + "0.02" + chr(34))}/>'
        extra = d.choice("", f'armature="{d.random.uniform(0, 0.05)!r}"', 'class="geared"')
        return (f'<joint name="joint_{made}" type="{kind}" pos="{numbers(d.vector(0.1))}" axis="{numbers(d.unit() * d.random.uniform(0.5, 2))}" '
                f'damping="{d.random.random()!r}" frictionloss="{d.random.random()!r}" stiffness="{d.random.random()!r}" {extra}/>')

    while made < count:
        index = len(bodies)
        weight = d.choice("", f'gravcomp="{d.random.uniform(-1, 2)!r}"')
        lines = [f'<body name="body_{index}" pos="{numbers(d.vector())}" {_mjcf_orientation(d, degrees)} {weight}>']
        if index == 0 and free:
            made += 1
            lines.append('<freejoint name="root"/>')
        elif index == 0 or d.random.random() < 0.9:  # the others are fixed to their parents
            kinds = d.choice(["hinge"], ["hinge"], ["slide"], ["ball"], ["hinge", "hinge"], ["slide", "hinge"],
                             ["hinge", "hinge", "hinge"])
            lines += [joint(kind) for kind in kinds[:count - made]]
        lines.append(_mjcf_mass(d, degrees))
        bodies.append((lines, d.parent(index) if index > 0 else -1))

    def write(index):
        children = [write(i) for i, (_, parent) in enumerate(bodies) if parent == index]
        return "\n".join([*bodies[index][0], *children, "</body>"])

    return (f'<mujoco model="random_{seed}"><compiler angle="{"degree" if degrees else "radian"}" '
            f'eulerseq="{d.choice("xyz", "XYZ", "zyx", "ZXY")}"/>'
            '<default><default class="geared"><joint armature="0.03"/></default></default>'
            f'<worldbody>{write(0)}</worldbody></mujoco>')


def _sdf_pose(d, frames):
    relative = f' relative_to="{d.choice(*frames)}"' if frames and d.random.random() < 0.7 else ""
    return f"<pose{relative}>{numbers(d.vector())} {numbers(d.angles())}</pose>"


def make_sdf(seed, count, free=False):
    """A tree of `count` joints, including types that MuJoCo lacks, with poses relative to other frames."""
    d = Draw(seed)
    text = [f'<sdf version="1.9" xmlns:drake="http://drake.mit.edu"><model name="random_{seed}">']
    if not free:
        text.append('<joint name="stand" type="fixed"><parent>world</parent><child>link_0</child></joint>')
    frames = []
    for i in range(count + 1):
        mass = d.mass()
        I = d.inertia(mass).tolist()
        text += [f'<link name="link_{i}">', _sdf_pose(d, frames),
                 f"<inertial><pose>{numbers(d.vector(0.1))} {numbers(d.angles())}</pose><mass>{mass!r}</mass><inertia>",
                 *[f"<{name}>{I[r][c]!r}</{name}>" for name, r, c in
                   [("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2)]],
                 "</inertia></inertial></link>"]
        if i > 0:
            parent = d.parent(i)
            kind = d.choice("revolute", "continuous", "prismatic", "screw", "universal", "ball", "fixed", "planar")
            if kind == "planar":
                # Drake's own element, about the z axis of the parent's frame
                text.append(f'<drake:joint name="joint_{i}" type="planar"><drake:parent>{d.choice(*frames)}</drake:parent>'
                            f"<drake:child>link_{i}</drake:child><drake:damping>0 0 0</drake:damping></drake:joint>")
                frames.append(f"link_{i}")
                continue
            pose = f"<pose>{numbers(d.vector(0.2))} {numbers(d.angles())}</pose>" if d.random.random() < 0.5 else ""
            text.append(f'<joint name="joint_{i}" type="{kind}">{pose}<parent>link_{parent}</parent><child>link_{i}</child>')
            expressed = f' expressed_in="{d.choice(*frames)}"' if d.random.random() < 0.4 else ""
            if kind == "universal":
                # the second axis is perpendicular to the first
                first = d.unit()
                second = np.cross(first, d.unit() + 0.3)
                second /= np.linalg.norm(second)
                text += [f"<axis><xyz{expressed}>{numbers(first)}</xyz></axis>",
                         f"<axis2><xyz{expressed}>{numbers(second)}</xyz></axis2>"]
            elif kind not in ("ball", "fixed"):
                text.append(f"<axis><xyz{expressed}>{numbers(d.unit())}</xyz></axis>")
            if kind == "screw":
                text.append(f"<screw_thread_pitch>{d.random.uniform(-0.5, 0.5)!r}</screw_thread_pitch>")
            text.append("</joint>")
        frames.append(f"link_{i}")
        if d.random.random() < 0.3:
            text.append(f'<frame name="frame_{i}" attached_to="link_{i}">{_sdf_pose(d, frames)}</frame>')
            frames.append(f"frame_{i}")
    return "\n".join([*text, "</model></sdf>"])
