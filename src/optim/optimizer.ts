import { describe } from "../device/describe.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import { type DType, isFloat } from "../device/dtype.ts";
import { scalar, zeros } from "../tensor/creation.ts";
import { hostNumbers } from "../tensor/host.ts";
import { tidy } from "../tensor/scope.ts";
import { applyBroadcast } from "../tensor/broadcast.ts";
import type { Tensor, TensorLike } from "../tensor/tensor.ts";
import { elementwise } from "../tensor/primitives/elementwise.ts";
import type { Scalar } from "../device/scalar/scalar.ts";
import { treeFlatten } from "../tensor/tree.ts";
import { checkSame, loadParameters, parameter, type ParameterTree } from "../nn/layer.ts";

/** Options of every optimizer. */
export interface OptimizerOptions {
  /** The learning rate. */
  learningRate: number;
  /**
   * Factors on the learning rate of some parameters, by the prefix of their dotted names: `{ readout: 100 }`
   * applies to `readout.weight` and `readout.bias`. If several prefixes match, the longest applies.
   */
  multipliers?: Readonly<Record<string, number>>;
}

export const optimizerOptionNames = namesOf<OptimizerOptions>()("learningRate multipliers?");

/** State of an optimizer: tensors by name, such as `layers.0.weight.m`, and the number of completed steps. */
export interface OptimizerState {
  /** The number of completed steps. */
  readonly step: number;
  /** The tensors that the update rule stores for each parameter, named by the parameter and the rule. */
  readonly tensors: Readonly<Record<string, Tensor>>;
}

/** How an optimizer updates one parameter. */
export interface UpdateRule {
  /**
   * Names of the tensors that the rule stores for a parameter. Each has the parameter's shape and starts at
   * zero.
   */
  readonly state: readonly string[];
  /**
   * The numbers that `update` needs and that change from step to step. By default only the learning rate.
   *
   * @param step The number of this step, starting at 1.
   * @param learningRate The learning rate of this parameter, with its multiplier.
   */
  numbers?(step: number, learningRate: number): readonly number[];
  /**
   * Returns the new values of a parameter and of its state, in the order of `state`.
   *
   * @param numbers The result of {@linkcode numbers}. Inside `jit` each number is a scalar tensor.
   */
  update(
    parameter: Tensor,
    gradient: Tensor,
    state: readonly Tensor[],
    numbers: readonly TensorLike[],
  ): { parameter: Tensor; state: readonly Tensor[] };
}

interface Group {
  readonly name: string;
  readonly parameter: Tensor;
  readonly state: readonly Tensor[];
  readonly multiplier: number;
}

/**
 * Updates parameters in place from their gradients, without waiting for the device. {@linkcode Adam},
 * {@linkcode AdamW}, {@linkcode AdaBelief} and {@linkcode SGD} make optimizers.
 */
export interface Optimizer {
  /** The learning rate, before multipliers. Schedules set it. */
  learningRate: number;
  /**
   * The state that a checkpoint must store to resume training bit for bit. Later steps update these tensors
   * in place.
   */
  readonly state: OptimizerState;
  /**
   * Updates every parameter. A parameter with several names is updated once.
   *
   * @param gradients Gradients in the structure of the parameters, as `valueAndGrad` returns them.
   * @throws {Error} If a gradient is missing, or a gradient belongs to no parameter.
   * @throws {ShapeError} If a gradient's shape or type differs from that of its parameter.
   */
  step(gradients: ParameterTree): void;
  /**
   * Restores a {@linkcode state}. It does not include the learning rate: set that by a schedule or by the
   * options.
   *
   * @throws {Error} If the state belongs to another optimizer or to other parameters. Nothing is changed
   * then.
   */
  load(state: OptimizerState): void;
}

class RuleOptimizer implements Optimizer {
  readonly #rule: UpdateRule;
  readonly #names: readonly string[];
  readonly #groups: readonly Group[];
  #learningRate = 0;
  #step = 0;

  constructor(rule: UpdateRule, parameters: ParameterTree, options: OptimizerOptions) {
    const { learningRate, multipliers = {} } = options;
    const named = treeFlatten(parameters);
    if (named.length === 0) {
      throw new TypeError("optimizer: no tensors among the parameters; pass model.parameters");
    }
    const [name, discrete] = named.find(([, { dtype }]) => !isFloat(dtype)) ?? [];
    if (discrete) {
      throw new TypeError(`optimizer: ${name} is ${discrete.dtype}, and has no gradient; only floats do`);
    }
    this.#rule = rule;
    this.learningRate = learningRate;
    for (const [prefix, factor] of Object.entries(multipliers)) {
      checkNonNegative(`multiplier of "${prefix}"`, factor);
      if (!named.some(([name]) => startsWith(name, prefix))) {
        const names = named.map(([name]) => name).join(", ");
        throw new Error(`optimizer: multiplier "${prefix}" fits no parameter; there are ${names}`);
      }
    }
    this.#names = named.map(([name]) => name);
    const once = named.filter(([, tensor], i) => named.findIndex(([, x]) => x === tensor) === i);
    this.#groups = once.map(([name, tensor]) => ({
      name,
      parameter: tensor,
      state: rule.state.map(() => parameter(zeros(tensor.shape, { dtype: tensor.dtype }))),
      multiplier: multiplierOf(name, multipliers),
    }));
  }

  get learningRate(): number {
    return this.#learningRate;
  }

  set learningRate(value: number) {
    checkNonNegative("learningRate", value);
    this.#learningRate = value;
  }

  get state(): OptimizerState {
    return { step: this.#step, tensors: this.#stateTensors() };
  }

  #stateTensors(): Record<string, Tensor> {
    return Object.fromEntries(
      this.#groups.flatMap(({ name, state }) =>
        state.map((x, i) => [name === "" ? this.#rule.state[i] : `${name}.${this.#rule.state[i]}`, x])
      ),
    );
  }

  step(gradients: ParameterTree): void {
    const gradientsByName = new Map(treeFlatten(gradients));
    const odd = this.#names.find((name) => !gradientsByName.has(name)) ??
      [...gradientsByName.keys()].find((name) => !this.#names.includes(name));
    if (odd !== undefined) {
      const problem = gradientsByName.has(odd) ? "is a gradient of no parameter" : "has no gradient";
      throw new Error(`optimizer: ${odd} ${problem}: gradients must have the structure of the parameters`);
    }
    for (const { name, parameter } of this.#groups) {
      checkSame("optimizer", `the gradient of ${name}`, gradientsByName.get(name)!, parameter);
    }
    tidy(() => {
      const numbers = hostNumbers(this.#groups.map(({ parameter }) => parameter), () => {
        this.#step++;
        return this.#groups.map(({ multiplier }) => {
          const rate = this.#learningRate * multiplier;
          return this.#rule.numbers?.(this.#step, rate) ?? [rate];
        });
      });
      for (const [i, { name, parameter, state }] of this.#groups.entries()) {
        const updated = this.#rule.update(parameter, gradientsByName.get(name)!, state, numbers[i]);
        updated.state.forEach((values, i) => state[i].assign(values));
        parameter.assign(updated.parameter);
      }
    });
  }

  load(state: OptimizerState): void {
    if (typeof state?.tensors !== "object" || state.tensors === null) {
      throw new TypeError(
        `optimizer: the state is ${describe(state)}, expected an object with step and tensors`,
      );
    }
    if (!Number.isInteger(state.step) || state.step < 0) {
      throw new RangeError(`optimizer: step ${describe(state.step)} is not a whole number of at least 0`);
    }
    loadParameters(this.#stateTensors(), state.tensors);
    this.#step = state.step;
  }
}

/**
 * A custom optimizer.
 *
 * @param rule How to update one parameter.
 * @param parameters The parameters to update, such as `model.parameters`.
 * @throws {RangeError} If the learning rate or a multiplier is negative or not finite.
 * @throws {Error} If a multiplier matches no parameter.
 * @throws {TypeError} If there are no parameters, or one is not a float tensor.
 */
export function Optimizer(
  rule: UpdateRule,
  parameters: ParameterTree,
  options: OptimizerOptions,
): Optimizer {
  if (typeof rule?.update !== "function" || !Array.isArray(rule.state)) {
    throw new TypeError(`Optimizer: the rule is ${describe(rule)}, expected an object with state and update`);
  }
  checkOptions("Optimizer", options, optimizerOptionNames);
  return makeOptimizer(rule, parameters, options);
}

/** {@linkcode Optimizer} without the check of option names. The options may include those of a rule. */
export function makeOptimizer(
  rule: UpdateRule,
  parameters: ParameterTree,
  options: OptimizerOptions,
): Optimizer {
  return new RuleOptimizer(rule, parameters, options);
}

const startsWith = (name: string, prefix: string) => name === prefix || name.startsWith(`${prefix}.`);

function multiplierOf(name: string, multipliers: Readonly<Record<string, number>>): number {
  const fitting = Object.keys(multipliers).filter((prefix) => startsWith(name, prefix));
  return fitting.length === 0 ? 1 : multipliers[fitting.reduce((a, b) => b.length > a.length ? b : a)];
}

/** Throws unless a number is finite and not negative. */
export function checkNonNegative(name: string, value: number, operation = "optimizer"): void {
  if (!(Number.isFinite(value) && value >= 0)) {
    throw new RangeError(
      `${operation}: ${name} is ${describe(value)}, expected a finite number of at least 0`,
    );
  }
}

/** Throws unless `betas` are two decay rates in [0, 1). */
export function checkBetas(betas: readonly number[]): void {
  if (!Array.isArray(betas) || betas.length !== 2) {
    throw new RangeError(
      `optimizer: betas are ${
        Array.isArray(betas) ? `[${betas.map(describe)}]` : describe(betas)
      }, expected two numbers, such as [0.9, 0.999]`,
    );
  }
  const wrong = betas.find((beta) => !(beta >= 0 && beta < 1));
  if (wrong !== undefined) throw new RangeError(`optimizer: beta ${wrong} is not in [0, 1)`);
}

/**
 * A function of tensors and numbers that runs as one kernel. Numbers are operands, not constants of the
 * kernel, so a number that changes every step does not cause recompilation.
 */
export function fusedKernel<A extends TensorLike[]>(
  name: string,
  build: (...operands: { [K in keyof A]: Scalar }) => Scalar,
): (dtype: DType, ...operands: A) => Tensor {
  const reverse = { none: "an optimizer step has no gradient; call it outside grad and vjp" };
  const primitive = { ...elementwise(name, build as (...operands: Scalar[]) => Scalar, "zero"), reverse };
  return (dtype, ...operands) =>
    applyBroadcast(primitive, operands.map((x) => typeof x === "number" ? scalar(x, dtype) : x));
}
