/** Boosted trees whose numbers are the parameters of a model. */
import { parameterOf } from "../../../nn/layer.ts";
import { full, tensor, zeros } from "../../../tensor/creation.ts";
import { tidy } from "../../../tensor/scope.ts";
import type { BoostedTrees } from "../../math/predict_trees.ts";
import {
  nodeCount,
  nodeNumbers,
  type PackedSizes,
  type PackedTrees,
  packTrees,
  unpackTrees,
} from "../../math/pack_trees.ts";

/** Parameters for trees of several outputs, which are on the host while the model predicts. */
export function storedTrees(outputs: number, sizes: PackedSizes) {
  const parameters = {
    start: parameterOf(() => zeros([outputs])),
    nodes: parameterOf(() => full([outputs, sizes.trees, nodeCount(sizes), nodeNumbers], -1)),
  };
  return {
    parameters,
    /** Stores ensembles, whose outputs follow each other. Returns the trees as they will be loaded. */
    store(ensembles: readonly BoostedTrees[]): BoostedTrees {
      const packed = packTrees(ensembles, sizes);
      tidy(() => {
        parameters.start.assign(tensor(packed.start));
        parameters.nodes.assign(tensor(packed.nodes, { shape: parameters.nodes.shape }));
      });
      return unpackTrees(packed, sizes);
    },
    async load(): Promise<BoostedTrees> {
      const [start, nodes] = await Promise.all([parameters.start.data(), parameters.nodes.data()]);
      return unpackTrees({ start, nodes } as PackedTrees, sizes);
    },
  };
}
