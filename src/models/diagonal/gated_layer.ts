import type { DType } from "../../device/dtype.ts";
import { type Layer, layer } from "../../nn/layer.ts";
import { LayerNorm } from "../../nn/layer_norm.ts";
import { Linear } from "../../nn/linear.ts";
import { zeros } from "../../tensor/creation.ts";
import { type Key, splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Tree } from "../../tensor/tree.ts";
import type { SequenceLayer, StackParts, StateSpaceSizes } from "./stack.ts";
import { type DiagonalSystem, runAlong, runStep } from "./system.ts";

/** The gate after a system. It maps features to the same number of features. */
type Gate = Layer<[y: Tensor]>;

/** Makes a gate. */
type MakeGate = (features: number, key: Key, dtype?: DType) => Gate;

/**
 * A gated linear unit (Dauphin et al., 2017): the first half of W y + b, multiplied by the sigmoid of the
 * second half.
 */
export function GatedLinearUnit(features: number, key: Key, dtype?: DType): Gate {
  const linear = Linear({ inputs: features, outputs: 2 * features, key, dtype });
  return layer(linear.parameters, (y: Tensor) => {
    const both = linear(y);
    return both.slice(-1, 0, features).mul(both.slice(-1, features).sigmoid());
  });
}

/** y multiplied by the sigmoid of W y + b. */
export function SigmoidGate(features: number, key: Key, dtype?: DType): Gate {
  const linear = Linear({ inputs: features, outputs: features, key, dtype });
  return layer(linear.parameters, (y: Tensor) => y.mul(linear(y).sigmoid()));
}

/** The layers of S4D, LRU, S5 and S6. Each layer consists of a system and a gate. */
export function gatedLayers(
  makeSystem: (key: Key) => DiagonalSystem,
  makeGate: MakeGate,
  { modelDim: features, dtype }: StateSpaceSizes,
): StackParts {
  return {
    makeLayer(key) {
      const [systemKey, gateKey] = splitKey(key);
      const system = diagonalLayer(makeSystem(systemKey), dtype);
      return gatedLayer(system, makeGate(features, gateKey, dtype), { features, dtype });
    },
  };
}

/** A diagonal system as a layer. */
function diagonalLayer(system: DiagonalSystem, dtype?: DType): SequenceLayer {
  return {
    parameters: system.parameters,
    all: (u) => runAlong(system, u),
    start: (batch) => zeros([batch, ...system.state], { dtype }),
    step: (u, state: Tree) => runStep(system, u, state as Tensor),
  };
}

/** gate(GELU(system(norm(u)))). */
export function gatedLayer(
  system: SequenceLayer,
  gate: Gate,
  { features, dtype }: { features: number; dtype?: DType },
): SequenceLayer {
  const norm = LayerNorm({ features, dtype });
  return {
    parameters: { norm: norm.parameters, system: system.parameters, gate: gate.parameters },
    all: (u) => gate(system.all(norm(u)).gelu()),
    start: system.start,
    step(u, state) {
      const [next, y] = system.step(norm(u), state);
      return [next, gate(y.gelu())];
    },
  };
}
