import { concatenate, type Tensor, tensor, uniform } from "@weft/weft";
import { component, type Environment, wrapAngle } from "./environments.ts";

/** Angular acceleration of the horizontal pendulum, 3 g / (2 l) with gravity 10 and length 1. */
const gravity = 15;
/** Angular acceleration by the largest torque, 3 u / (m l^2) with u = 2 and mass 1. */
const push = 6;

/**
 * The pendulum of Gym's Pendulum-v1 with its reward. The state is the angle from the upright position and the
 * angular velocity. The torque is too weak to lift the pendulum directly. Unlike Gym's, the velocity is not clipped,
 * and the equation is not solved by Euler's method.
 */
export const pendulum: Environment = {
  states: [{ title: "angle", unit: "rad" }, { title: "velocity", unit: "rad/s" }],
  changes: [0.2, 0.5],
  action: { title: "torque", unit: "N m", limit: 2 },
  features: 3,
  featuresOf(state) {
    const angle = component(state, 0);
    return concatenate([angle.cos(), angle.sin(), component(state, 1).div(4)], -1);
  },
  field(state, action) {
    const acceleration = component(state, 0).sin().mul(gravity).add(action.mul(push));
    return concatenate([component(state, 1), acceleration], -1);
  },
  reward(state, action) {
    const velocityCost = component(state, 1).square().mul(0.1);
    return wrapAngle(component(state, 0)).square().add(velocityCost).add(action.mul(2).square().mul(0.001))
      .neg();
  },
  angularVelocity: (state) => component(state, 1),
  start: (count, key) => uniform(key, [count, 2], { low: -1, high: 1 }).mul(tensor([Math.PI, 1])),
  controller: swingUp,
  draw: ([angle]) => [[0, 0], [Math.sin(angle), Math.cos(angle)]],
};

/** Energy of states: kinetic, and potential relative to the horizontal pendulum, divided by the inertia. */
export function energy(state: Tensor): Tensor {
  return component(state, 1).square().div(2).add(component(state, 0).cos().mul(gravity));
}

/**
 * Pumps energy until it is that of the upright position (Åström and Furuta, "Swinging up a pendulum by energy
 * control", 2000). Near the top the torque is linear in angle and velocity.
 */
function swingUp(state: Tensor): Tensor {
  const [angle, velocity] = [wrapAngle(component(state, 0)), component(state, 1)];
  const missing = energy(state).neg().add(gravity);
  // Any torque starts the motion of a resting pendulum.
  const pump = velocity.abs().less(0.05).where(1, velocity.mul(missing).mul(2));
  const hold = angle.mul(-8).sub(velocity.mul(2));
  const isNear = angle.abs().less(0.5).and(velocity.abs().less(2.5));
  return isNear.where(hold, pump).clip(-1, 1);
}
