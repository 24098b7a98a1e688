import type { Problem } from "./problem.ts";

/**
 * The hopper of Gym's Hopper-v2 (Erez, Tassa, Todorov, 2011): a leg with a foot, in a plane. Three motors turn the
 * joints. The joints are sliders in x and z, the angle of the torso, and thigh, leg and foot.
 */
export const hopper: Problem = {
  xml: `<mujoco model="hopper">
  <option timestep="0.002" integrator="RK4"/>
  <default>
    <geom type="capsule" contype="1" conaffinity="1" condim="1" margin="0.001" friction="0.9" solref="0.02 1" solimp="0.8 0.8 0.01"/>
    <joint type="hinge" axis="0 -1 0" armature="1" damping="1" limited="true"/>
    <motor gear="200" ctrllimited="true" ctrlrange="-1 1"/>
    <default class="root">
      <joint armature="0" damping="0" limited="false"/>
    </default>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="20 20 0.125" condim="3" friction="1"/>
    <body name="torso" pos="0 0 1.25">
      <joint name="x" class="root" type="slide" axis="1 0 0" pos="0 0 -1.25"/>
      <joint name="z" class="root" type="slide" axis="0 0 1" pos="0 0 -1.25" ref="1.25"/>
      <joint name="angle" class="root" axis="0 1 0"/>
      <geom size="0.05 0.2"/>
      <body name="thigh" pos="0 0 -0.2">
        <joint name="thigh" range="-150 0"/>
        <geom size="0.05 0.225" pos="0 0 -0.225"/>
        <body name="leg" pos="0 0 -0.7">
          <joint name="leg" range="-150 0" pos="0 0 0.25"/>
          <geom size="0.04 0.25"/>
          <body name="foot" pos="0.13 0 -0.35">
            <joint name="foot" range="-45 45" pos="-0.13 0 0.1"/>
            <geom size="0.06 0.195" pos="-0.065 0 0.1" quat="0.7071067811865475 0 -0.7071067811865475 0" friction="2"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="thigh"/>
    <motor joint="leg"/>
    <motor joint="foot"/>
  </actuator>
</mujoco>`,
  timeStep: 0.002,
  positions: 6,
  velocities: 6,
  actions: 3,
  startNoise: 0.005,
  velocityLimit: 10,
  controlCost: 1e-3,
  aliveReward: 1,
  /** The episode ends when the torso is lower than 0.7 m or leans more than 0.2 rad. */
  upright: { leastHeight: 0.7, largestAngle: 0.2, largestValue: 100 },
};
