import type { Problem } from "./problem.ts";

/**
 * The swimmer of Gym's Swimmer-v2 (Coulom, 2002): a chain of three rods in a viscous fluid, in a plane. Two motors
 * turn the joints.
 */
export const swimmer: Problem = {
  xml: `<mujoco model="swimmer">
  <option timestep="0.01" integrator="RK4" density="4000" viscosity="0.1"/>
  <default>
    <geom type="capsule" size="0.1" contype="0" conaffinity="0" condim="1"/>
    <joint type="hinge" axis="0 0 1" armature="0.1"/>
    <motor gear="150" ctrllimited="true" ctrlrange="-1 1"/>
  </default>
  <worldbody>
    <body name="front">
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="y" type="slide" axis="0 1 0"/>
      <joint name="angle"/>
      <geom fromto="1.5 0 0 0.5 0 0"/>
      <body name="middle" pos="0.5 0 0">
        <joint name="first" limited="true" range="-100 100"/>
        <geom fromto="0 0 0 -1 0 0"/>
        <body name="back" pos="-1 0 0">
          <joint name="second" limited="true" range="-100 100"/>
          <geom fromto="0 0 0 -1 0 0"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="first"/>
    <motor joint="second"/>
  </actuator>
</mujoco>`,
  timeStep: 0.01,
  positions: 5,
  velocities: 5,
  actions: 2,
  startNoise: 0.1,
  velocityLimit: Infinity,
  controlCost: 1e-4,
  aliveReward: 0,
};
