/**
 * Files of `tests/` that run in Node and in browsers, by layer: those with golden numbers of other implementations, and those that
 * compare kernels and primitives with naive loops and gradients with central differences.
 */
export const goldenTests = {
  device: ["cpu", "elementwise_kernels", "float32_math", "cyclic_reduction", "scatter_add", "webgpu_matmul"],
  tensor: ["primitives", "products", "random", "eager_memory", "float32_sweep"],
  autodiff: ["primitives", "grad"],
  compile: ["scan", "loop", "jit"],
  paths: ["golden", "signature", "path"],
  solvers: ["odeint", "cdeint", "methods"],
  models: [
    "fast_weight",
    "fast_weight_options",
    "log_ncde",
    "neural_cde",
    "neural_rde",
    "recurrent",
    "warp",
    "warp_autoregressive",
  ],
  data: ["mfcc"],
};

/** Bundles of a layer's tests, in the folder `tests/`. */
export function bundlesOf(layer) {
  return goldenTests[layer].map((file) => `${layer}.${file}_test.js`);
}
