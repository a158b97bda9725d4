"""Joint motions of a KUKA iiwa 7 whose tool follows given poses, as lines of a scene's script.

Heights and axes of the joints are those of scenes/robots/iiwa7.urdf.
"""

import math

# height of a joint over the one below it [m], and its axis
JOINTS = [(0.1575, "z", 1), (0.183, "y", 1), (0.184, "z", 1), (0.2155, "y", -1), (0.184, "z", 1), (0.2155, "y", 1), (0.0805, "z", 1)]
FLANGE = 0.045  # over the last joint [m]
LIMITS = [2.96706, 2.0944, 2.96706, 2.0944, 2.96706, 2.0944, 3.05433]


def product(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(3)) for j in range(len(b[0]))] for i in range(3)]


def apply(a, x):
    return [sum(a[i][k] * x[k] for k in range(3)) for i in range(3)]


def rotation(axis, angle):
    c, s = math.cos(angle), math.sin(angle)
    return {"x": [[1, 0, 0], [0, c, -s], [0, s, c]],
            "y": [[c, 0, s], [0, 1, 0], [-s, 0, c]],
            "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]]}[axis]


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def solve(matrix, right):
    """Gaussian elimination with pivoting."""
    n = len(right)
    rows = [list(matrix[i]) + [right[i]] for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(i + 1, n):
            f = rows[k][i] / rows[i][i]
            rows[k] = [x - f * y for x, y in zip(rows[k], rows[i])]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][k] * x[k] for k in range(i + 1, n))) / rows[i][i]
    return x


class Arm:
    """An arm whose base stands at `position` [m], turned by `yaw` [rad]; `tool` is a point in the flange's frame [m]."""

    def __init__(self, position, yaw, tool):
        self.position, self.yaw, self.tool = position, yaw, tool

    def kinematics(self, q):
        """Rotation of the flange, position of the tool, and axes and origins of the joints in the world."""
        r, p = rotation("z", self.yaw), list(self.position)
        axes, origins = [], []
        for (height, axis, sign), angle in zip(JOINTS, q):
            p = [a + b for a, b in zip(p, apply(r, [0, 0, height]))]
            axes.append([sign * r[i]["xyz".index(axis)] for i in range(3)])
            origins.append(p)
            r = product(r, rotation(axis, sign * angle))
        tool = [self.tool[0], self.tool[1], self.tool[2] + FLANGE]
        return r, [a + b for a, b in zip(p, apply(r, tool))], axes, origins

    def reach(self, position, orientation, start):
        """Joint positions near `start` that bring the tool to a position [m] and the flange to a rotation matrix, by damped
        least squares to 1e-7."""
        q = list(start)
        for _ in range(200):
            r, p, axes, origins = self.kinematics(q)
            column = lambda m, j: [m[i][j] for i in range(3)]
            turn = [sum(x) / 2 for x in zip(*(cross(column(r, j), column(orientation, j)) for j in range(3)))]
            error = turn + [a - b for a, b in zip(position, p)]
            if max(map(abs, error)) < 1e-7:
                for value, limit in zip(q, LIMITS):
                    if abs(value) > limit:
                        raise ValueError(f"{position}: a joint would have to turn to {value:.3f}, beyond {limit}")
                return q
            jacobian = [list(a) + cross(a, [x - y for x, y in zip(p, o)]) for a, o in zip(axes, origins)]
            gram = [[sum(row[i] * row[j] for row in jacobian) + (1e-6 if i == j else 0) for j in range(6)] for i in range(6)]
            y = solve(gram, error)
            step = [sum(a * b for a, b in zip(row, y)) for row in jacobian]
            largest = max(map(abs, step))
            q = [a + b * min(1, 0.3 / largest) for a, b in zip(q, step)]
        raise ValueError(f"{position}: is out of reach; the error left is {max(map(abs, error)):.2g}")

    def follow(self, poses, start, spacing=0.05):
        """Times [s] and joint positions [rad] along poses (time, position, orientation(s)); between two poses the position moves
        on a straight line, slowly at its ends, and the orientation is orientation(s), s from 0 to 1."""
        times, values, q = [], [], list(start)
        for k, (time, position, orientation) in enumerate(poses):
            if k == 0:
                q = self.reach(position, orientation(1), q)
                times, values = [time], [q]
                continue
            before, at = poses[k - 1][0], poses[k - 1][1]
            n = max(1, round((time - before) / spacing)) if at != position or orientation(0) != orientation(1) else 1
            for i in range(1, n + 1):
                s = i / n
                s = s * s * (3 - 2 * s)
                q = self.reach([a + s * (b - a) for a, b in zip(at, position)], orientation(s), q)
                times.append(before + (time - before) * i / n)
                values.append(q)
        return times, values


def still(matrix):
    return lambda s: matrix


def numbers(values, digits):
    return "[" + ", ".join(f"{round(x, digits) + 0:.7g}" for x in values) + "]"


def script(robot, times, values):
    """Lines of a scene's script for the seven joints of `robot`."""
    lines = ""
    for k in range(7):
        lines += (f"  - target: {{joint: {robot}/iiwa_joint_{k + 1}}}\n    times: {numbers(times, 4)}\n"
                  f"    values: {numbers([v[k] for v in values], 5)}\n")
    return lines


def start(q):
    """The value of a robot's joint_positions."""
    return ", ".join(f"iiwa_joint_{k + 1}: {round(x, 5) + 0:g}" for k, x in enumerate(q))
