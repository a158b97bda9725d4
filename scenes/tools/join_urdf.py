#!/usr/bin/env python3
"""Mounts one URDF robot on a link of another and writes both as one file: one joint tree, with no constraint to solve.

    python3 scenes/tools/join_urdf.py ARM.urdf LINK HAND.urdf OUT.urdf [--xyz X Y Z] [--rpy R P Y] [--name NAME]

The hand's root link is fixed to LINK at the given position [m] and roll, pitch, yaw [rad]. Names of links, joints and
materials must differ between the two. The robots that ship are joined by

    python3 scenes/tools/join_urdf.py --ship
"""

import argparse
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

ROBOTS = pathlib.Path(__file__).resolve().parents[1] / "robots"

# arm, link, hand, position, roll pitch yaw, name; the WSG's y, from its body to its fingertips, becomes the flange's z
SHIPPED = [
    ("iiwa14", "iiwa_flange", "allegro_right", "0 0 0.095", "0 0 0", "iiwa_allegro"),
    ("iiwa14", "iiwa_flange", "wsg50", "0 0 0.085383", "1.5707963267948966 0 0", "iiwa_wsg"),
    ("iiwa7", "iiwa_flange", "allegro_right", "0 0 0.095", "0 0 0", "iiwa7_allegro"),
    ("iiwa7", "iiwa_flange", "wsg50", "0 0 0.085383", "1.5707963267948966 0 0", "iiwa7_wsg"),
    ("iiwa7", "iiwa_flange", "wsg50_wide", "0 0 0.085383", "1.5707963267948966 0 0", "iiwa7_wsg_wide"),
]


def parts(path):
    """The attributes of <robot>, its content as text, and the root of its tree of elements."""
    text = path.read_text()
    match = re.search(r"<robot\b([^>]*)>(.*)</robot>", text, re.DOTALL)
    if not match:
        sys.exit(f"{path}: no <robot> element; expected a URDF file")
    return match[1], match[2].strip("\n"), ElementTree.fromstring(text)


def root_link(path, robot):
    children = {joint.find("child").get("link") for joint in robot.findall("joint")}
    roots = [link.get("name") for link in robot.findall("link") if link.get("name") not in children]
    if len(roots) != 1:
        sys.exit(f"{path}: {len(roots)} root links ({', '.join(roots)}); expected one")
    return roots[0]


def join(arm_path, link, hand_path, xyz, rpy, name):
    arm_attributes, arm_text, arm = parts(arm_path)
    hand_attributes, hand_text, hand = parts(hand_path)
    if link not in {element.get("name") for element in arm.findall("link")}:
        sys.exit(f"{arm_path}: no link '{link}'")
    for tag in ("link", "joint", "material"):
        twice = {e.get("name") for e in arm.findall(tag)} & {e.get("name") for e in hand.findall(tag)}
        if twice:
            sys.exit(f"{hand_path}: {tag} '{min(twice)}' is also in {arm_path}; rename one of them")
    spaces = sorted(set(re.findall(r'xmlns:\w+="[^"]*"', arm_attributes + hand_attributes)))
    child = root_link(hand_path, hand)
    turn = "" if rpy.split() == ["0", "0", "0"] else f' rpy="{rpy}"'
    return f"""<?xml version="1.0"?>
<!-- {arm_path.name} with {hand_path.name} on its {link}, joined by scenes/tools/join_urdf.py; see there for both. -->
<robot name="{name}"{''.join(' ' + space for space in spaces)}>
{arm_text}

  <joint name="{child}_mount" type="fixed">
    <origin xyz="{xyz}"{turn}/>
    <parent link="{link}"/><child link="{child}"/>
  </joint>

{hand_text}
</robot>
"""


def main():
    if sys.argv[1:] == ["--ship"]:
        for arm, link, hand, xyz, rpy, name in SHIPPED:
            text = join(ROBOTS / f"{arm}.urdf", link, ROBOTS / f"{hand}.urdf", xyz, rpy, name)
            (ROBOTS / f"{name}.urdf").write_text(text)
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arm", type=pathlib.Path)
    parser.add_argument("link")
    parser.add_argument("hand", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--xyz", nargs=3, default=["0", "0", "0"])
    parser.add_argument("--rpy", nargs=3, default=["0", "0", "0"])
    parser.add_argument("--name")
    a = parser.parse_args()
    a.out.write_text(join(a.arm, a.link, a.hand, " ".join(a.xyz), " ".join(a.rpy), a.name or a.out.stem))


if __name__ == "__main__":
    main()
