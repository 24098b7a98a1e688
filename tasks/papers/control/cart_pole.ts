import { concatenate, type Tensor, tensor, uniform } from "@weft/weft";
import { component, type Environment, wrapAngle } from "./environments.ts";

const gravity = 9.8;
const poleMass = 0.1;
const totalMass = 1.1;
/** Half the length of the pole. */
const halfLength = 0.5;
const force = 10;
/** Springs stop the cart at this distance from the middle of the track, in m, with this stiffness in N/m. */
const track = { end: 3, stiffness: 100 };

/**
 * The cart-pole of Gym's CartPole-v1 (Barto, Sutton, Anderson, 1983) with a continuous force and a quadratic cost.
 * The state is the position of the cart, the angle of the pole from the upright position, and their velocities. The
 * pole starts at up to 0.5 rad. Episodes do not end when it falls, and springs stop the cart at the
 * ends of the track.
 */
export const cartPole: Environment = {
  states: [
    { title: "position", unit: "m" },
    { title: "angle", unit: "rad" },
    { title: "velocity", unit: "m/s" },
    { title: "velocity", unit: "rad/s" },
  ],
  changes: [0.05, 0.1, 0.3, 0.5],
  action: { title: "force", unit: "N", limit: force },
  features: 5,
  featuresOf(state) {
    const [position, angle, velocity, turning] = [0, 1, 2, 3].map((i) => component(state, i));
    return concatenate(
      [position, angle.cos(), angle.sin().mul(2), velocity.div(2), turning.div(3)],
      -1,
    );
  },
  field(state, action) {
    const [position, angle, velocity, turning] = [0, 1, 2, 3].map((i) => component(state, i));
    const [sine, cosine] = [angle.sin(), angle.cos()];
    const beyond = position.sub(position.clip(-track.end, track.end));
    const push = action.mul(force).sub(beyond.mul(track.stiffness));
    const pull = turning.square().mul(sine).mul(poleMass * halfLength).add(push).div(totalMass);
    const inertia = cosine.square().mul(-poleMass / totalMass).add(4 / 3).mul(halfLength);
    const angular = sine.mul(gravity).sub(cosine.mul(pull)).div(inertia);
    const linear = pull.sub(angular.mul(cosine).mul(poleMass * halfLength / totalMass));
    return concatenate([velocity, turning, linear, angular], -1);
  },
  reward(state, action) {
    const [position, angle, velocity, turning] = [0, 1, 2, 3].map((i) => component(state, i));
    return wrapAngle(angle).square()
      .add(position.square().mul(0.1))
      .add(velocity.square().add(turning.square()).mul(0.01))
      .add(action.square().mul(0.01)).neg();
  },
  angularVelocity: (state) => component(state, 3),
  start: (count, key) => uniform(key, [count, 4], { low: -1, high: 1 }).mul(tensor([1, 0.5, 0.5, 0.5])),
  controller: balance,
  draw: ([position, angle]) => [[position, 0], [position + Math.sin(angle), Math.cos(angle)]],
};

/** A force that is linear in the state: pole placement. */
function balance(state: Tensor): Tensor {
  const [position, angle, velocity, turning] = [0, 1, 2, 3].map((i) => component(state, i));
  return wrapAngle(angle).mul(3.5).add(turning.mul(0.8)).add(position.mul(0.15)).add(velocity.mul(0.3)).clip(
    -1,
    1,
  );
}
