import { accuracy, type PaperTable, type TableColumn } from "./table.ts";

/** A column with an error of a forecasting problem. */
function error(title: string, experiment: string, factor: number, others: Partial<TableColumn>): TableColumn {
  return { title, experiment, factor, measure: "loss", digits: 2, better: "small", ...others };
}

const digits = { title: "MNIST 14 × 14", experiment: "mnist-transitions" } as const;

/** WARPs that differ in A alone, on everything that two cores train in minutes. */
export const warpTransitions: PaperTable = {
  name: "warp-transitions",
  title:
    "WARP with the identity, rotations and planes as initial A: test accuracy in percent, or test error " +
    "(MSD, MSD-Zero, LV: 10⁻², SINE*: 10⁻⁴)",
  source: "Weft's own, docs/research/warp.md",
  columns: [
    { ...digits, ...accuracy },
    {
      ...digits,
      title: "seconds an epoch",
      measure: "seconds an epoch",
      factor: 1,
      digits: 1,
      better: "small",
    },
    error("MSD", "mass-spring-damper", 100, { settings: { epochs: 30 } }),
    error("MSD-Zero", "mass-spring-damper-zero", 100, { settings: { epochs: 30 } }),
    error("LV", "lotka-volterra", 100, {}),
    error("SINE*", "sine", 10_000, {}),
    error("ETTh1", "etth1", 1, { measure: "mse", digits: 3, settings: { epochs: 40 } }),
    error("ETTh2", "etth2", 1, { measure: "mse", digits: 3, settings: { epochs: 40 } }),
    error("completion, 14 × 14, 300", "mnist-completion", 1, {
      ...{ measure: "mse after 300/784 in [0, 1]", digits: 3 },
      settings: { epochs: 4, samples: 8500, length: 196, learningRate: 0.00002, fromTestImages: true },
    }),
    { title: "JapaneseVowels", experiment: "japanese-vowels", ...accuracy },
    { title: "BasicMotions", experiment: "basic-motions", ...accuracy },
  ],
  rows: [
    { title: "identity", model: "warp" },
    { title: "rotation", model: "warp-rotation" },
    { title: "planes", model: "warp-planes" },
    { title: "planes plus rank 16", model: "warp-planes-low-rank" },
  ],
  reference: "warp",
  scales: {
    small: {
      seeds: 3,
      differs:
        "The defaults of the experiments, or the settings of the small scale of WARP's tables. Digits are " +
        "2,800 training, 600 validation and 600 test images from MNIST's test images.",
      hours: 2,
    },
  },
};
