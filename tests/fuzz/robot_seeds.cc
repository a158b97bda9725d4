#include "tests/fuzz/robot_seeds.h"

namespace pliant::fuzz {
namespace {

const char kUrdf[] = R"(<?xml version="1.0"?>
<robot name="arm" xmlns:drake="drake">
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base">
    <inertial><origin xyz="0 0 0.1" rpy="0 0.1 0"/><mass value="3"/>
      <inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.1" iyz="0" izz="0.15"/></inertial>
    <visual><geometry><cylinder radius="0.1" length="0.2"/></geometry><material name="grey"/>
        </visual>
    <collision><origin xyz="0 0 0.1"/><geometry><box size="0.2 0.2 0.2"/></geometry>
      <drake:proximity_properties><drake:mu_dynamic value="0.7"/><drake:compliant_hydroelastic/>
        <drake:hydroelastic_modulus value="1e6"/></drake:proximity_properties></collision>
  </link>
  <link name="upper"><inertial><mass value="2"/><inertia ixx="0.02" iyy="0.02" izz="0.01"/>
      </inertial>
    <collision><geometry><drake:capsule radius="0.05" length="0.3"/></geometry></collision></link>
  <link name="lower"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/>
      </inertial></link>
  <link name="left"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4"/>
      </inertial></link>
  <link name="right"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4"/>
      </inertial></link>
  <link name="tool"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 0.2" rpy="0.1 0.2 0.3"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="100" velocity="3"/>
        <dynamics damping="0.5" friction="0.1"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
      <axis xyz="0 1 0"/></joint>
  <joint name="l" type="prismatic"><parent link="lower"/><child link="left"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.05" effort="10" velocity="1"/></joint>
  <joint name="r" type="prismatic"><parent link="lower"/><child link="right"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="0.05" effort="10" velocity="1"/>
        <mimic joint="l" multiplier="-1" offset="0"/></joint>
  <drake:joint name="wrist" type="screw"><parent link="right"/><child link="tool"/>
    <drake:screw_thread_pitch value="0.01"/></drake:joint>
  <transmission name="t"><type>transmission_interface/SimpleTransmission</type>
      <joint name="shoulder"/>
    <actuator name="m"><mechanicalReduction>100</mechanicalReduction>
      <drake:rotor_inertia value="1e-4"/></actuator></transmission>
  <drake:collision_filter_group name="g"><drake:member link="left"/><drake:member link="right"/>
    <drake:ignored_collision_filter_group name="g"/></drake:collision_filter_group>
  <frame name="grip" link="lower" xyz="0 0 0.1" rpy="0 0 0"/>
  <gazebo reference="base"/>
</robot>
)";

const char kSdf[] = R"(<?xml version="1.0"?>
<sdf version="1.9">
  <world name="w">
    <model name="ground"><static>true</static><link name="l"><collision name="c"><geometry>
      <plane><normal>0 0 1</normal></plane></geometry></collision></link></model>
    <model name="hand" placement_frame="palm_frame" canonical_link="palm">
      <pose degrees="true">0 0 1 0 0 45</pose>
      <link name="palm"><inertial><mass>1</mass><pose>0 0 0.1 0 0 0</pose><inertia><ixx>0.1</ixx>
        <iyy>0.1</iyy><izz>0.1</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></inertia></inertial>
        <collision name="c"><geometry><ellipsoid><radii>0.1 0.2 0.3</radii></ellipsoid></geometry>
          <surface><friction><ode><mu>0.5</mu><mu2>0.5</mu2></ode></friction></surface>
              </collision></link>
      <frame name="palm_frame" attached_to="palm"><pose>0 0 0.1 0 0 0</pose></frame>
      <link name="finger"><pose relative_to="palm_frame">0.1 0 0 0 0.3 0</pose>
          <inertial auto="true">
        <density>800</density></inertial><collision name="c"><geometry><capsule>
            <radius>0.02</radius>
        <length>0.1</length></capsule></geometry></collision></link>
      <joint name="j" type="revolute"><parent>palm</parent><child>finger</child><axis>
        <xyz expressed_in="__model__">1 0 0</xyz><limit><lower>-1</lower><upper>1e16</upper>
        <effort>5</effort></limit><dynamics><damping>0.1</damping></dynamics></axis>
        <drake:controller_gains p="10" d="1"/></joint>
      <model name="sub"><pose relative_to="finger">0 0 0.2 0 0 0</pose><link name="a"/>
          <link name="b"/>
        <joint name="u" type="universal"><parent>a</parent><child>b</child><axis><xyz>1 0 0</xyz>
            </axis>
          <axis2><xyz>0 1 0</xyz></axis2></joint></model>
      <joint name="s" type="screw"><parent>finger</parent><child>sub</child><axis><xyz>0 0 1</xyz>
          </axis>
        <screw_thread_pitch>0.01</screw_thread_pitch></joint>
      <link name="wheel"><inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz>
        </inertia></inertial></link>
      <joint name="k" type="revolute"><parent>palm</parent><child>wheel</child><axis>
          <xyz>0 0 1</xyz>
        <mimic joint="j"><multiplier>2</multiplier><offset>0.1</offset></mimic></axis></joint>
      <joint name="g" type="gearbox"><parent>finger</parent><child>wheel</child><axis>
          <xyz>1 0 0</xyz></axis>
        <axis2><xyz>0 0 1</xyz></axis2><gearbox_ratio>3</gearbox_ratio>
        <gearbox_reference_body>palm</gearbox_reference_body></joint>
    </model>
    <model name="soft"><link name="ball"><collision name="c"><geometry><sphere>
        <radius>0.1</radius></sphere>
      </geometry></collision><drake:deformable_properties>
          <drake:youngs_modulus>1e4</drake:youngs_modulus>
      </drake:deformable_properties></link></model>
  </world>
</sdf>
)";

const char kMjcf[] = R"(<mujoco model="m">
  <compiler angle="radian" eulerseq="zYx" boundmass="0.001" balanceinertia="true"/>
  <default><geom density="500" friction="0.3"/><joint armature="0.01"/><position kp="30"/>
    <default class="a"><geom type="box" size="0.1 0.05 0.02"/><joint type="slide" damping="3"/>
      <default class="b"><geom type="ellipsoid" size=".03 .04 .05"/></default></default></default>
  <asset><mesh name="tet" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale=".2 .2 .2" refpos=".1 .05 0"/>
    <material name="red" rgba="1 0 0 1"/></asset>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <frame pos=".1 .2 .3" euler=".3 .2 .1">
      <body name="base" pos="0 0 1" quat="0.7 0.1 0.2 0.3" childclass="a">
        <freejoint/><geom/><geom class="b" pos=".1 0 0" xyaxes="0 1 0 1 0 .3" material="red"/>
        <body name="arm" pos="0.2 0.1 0" axisangle="1 1 0 .7">
          <joint name="h" type="hinge" axis="1 2 3" pos=".01 .02 .03" ref=".4" range="-1 2"
                 stiffness="4"/>
          <joint name="s" axis="0 1 1" ref="-.2"/>
          <geom type="capsule" fromto="0 0 0 .1 .2 .3" size=".03"/>
          <body name="tip" pos=".1 .1 0"><joint type="ball"/><geom type="mesh" mesh="tet"/>
            <site name="grip" pos="0 0 .1"/></body>
          <body name="w" pos="0 .1 .2"><joint name="d" type="hinge" springdamper=".3 .8"/>
            <inertial pos=".01 .02 .03" mass=".4" fullinertia=".01 .012 .013 .001 .002 .0005"/>
                </body>
        </body>
      </body>
    </frame>
    <replicate count="3" offset=".3 0 0" euler="0 0 .5" sep="_">
      <body name="r" pos="0 -1 .2"><joint name="q" axis="0 1 0"/><geom size=".1" pos=".1 0 0"/>
          </body>
    </replicate>
    <flexcomp name="f" type="grid" dim="3" count="3 3 3" spacing=".1 .1 .1">
        <elasticity young="1e4"/>
      <pin id="0" gridrange="2 2 2 2 2 2"/></flexcomp>
  </worldbody>
  <contact><exclude body1="arm" body2="w"/></contact>
  <tendon><fixed name="t"><joint joint="h" coef="1"/><joint joint="d" coef="-2"/></fixed></tendon>
  <equality><joint joint1="h" joint2="d" polycoef=".1 2 0 0 0"/><tendon tendon1="t"/>
    <connect body1="tip" body2="w" anchor="0 0 .1"/><weld body1="r_0" body2="r_1"/></equality>
  <actuator><position name="p" joint="d" dampratio=".5" gear="3" forcerange="-10 10"/>
    <motor name="m" joint="h"/><velocity name="v" joint="s" kv="8"/>
    <general joint="h" gainprm="20" biastype="affine" biasprm="0 -20 -1"/></actuator>
  <keyframe><key name="k" qpos="0 0 1 1 0 0 0 .1 .2 1 0 0 0 .3 0 0 0"/></keyframe>
</mujoco>
)";

// Robots with the defects that are mended.
const char kDefectiveUrdf[] = R"(<robot name="odd" xmlns:xacro="x">
  <link name="base" colour="red"><collision><geometry><plane normal="0 0 1"/></geometry></collision>
    <visual><geometry><mesh filename="package://none/a.dae"/></geometry></visual></link>
  <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="0.1" izz="0.1" ixy="-0.3"/>
      </inertial>
    <collision><geometry><box size="0.1, 0.2, 0"/></geometry></collision>
    <collision><geometry><sphere radius="0.1 0.2"/></geometry></collision>
    <collision><geometry><blob/></geometry></collision></link>
  <link name="b"><inertial><mass value="0"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <link name="c"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <joint name="j" type="spherical"><parent link="base"/><child link="a"/></joint>
  <joint name="j" type="revolute"><parent link="a"/><child link="b"/>
    <limit lower="2" upper="-2" effort="-1" velocity="-1"/></joint>
  <joint name="k" type="prismatic"><parent link="b"/><child link="c"/>
    <origin xyz="0 0 1 5"/></joint>
</robot>
)";

const char kGlobalMjcf[] = R"(<mujoco><compiler coordinate="global" angle="degree"/><worldbody>
  <body name="a" pos="0 0 1" euler="0 90 0"><joint name="j" pos="0 0 1" axis="0 1 0" range="9 -9"/>
    <geom name="g" type="capsule" size="0.1" fromto="0 0 1 1 0 1"/><geom name="g" size="0"/>
    <site name="s"/><site name="s"/>
    <body name="b"><inertial pos="1 0 1" mass="1" diaginertia="1 1 3"/>
      <joint type="ball" pos="1 0 1"/></body></body></worldbody></mujoco>
)";

}  // namespace

std::vector<std::string> MakeRobots() {
  return {kUrdf, kSdf, kMjcf, kDefectiveUrdf, kGlobalMjcf};
}

}  // namespace pliant::fuzz
