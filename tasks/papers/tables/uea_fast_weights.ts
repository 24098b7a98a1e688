import { accuracy, type Chosen, type PaperTable, type TableColumn } from "./table.ts";

function column(title: string, experiment: string, settings: Chosen): TableColumn {
  return { title, experiment, settings, ...accuracy };
}

/** Weft's comparison on three small problems of the UEA archive: docs/research/results.md. */
export const ueaFastWeights: PaperTable = {
  name: "uea-fast-weights",
  title: "Neural CDE and fast weights on small problems: test accuracy in percent",
  source: "Weft's own, docs/research/results.md",
  columns: [
    ...[0.3, 0.5, 0.7].map((drop) =>
      column(`CharacterTrajectories, ${100 * drop} % dropped`, "character-trajectories", {
        drop,
        epochs: 10,
        batchSize: 32,
      })
    ),
    column("JapaneseVowels", "japanese-vowels", { epochs: 40, batchSize: 32 }),
    column("BasicMotions", "basic-motions", { epochs: 40, batchSize: 16 }),
  ],
  rows: [
    { title: "Neural CDE", model: "neural-cde" },
    { title: "Hebb, direct", model: "hebb-ode" },
    { title: "Oja, direct", model: "oja-ode" },
    { title: "Delta, direct", model: "delta-ode" },
    { title: "Oja with a forget gate, direct", model: "gated-oja-ode" },
    { title: "Delta with a forget gate, direct", model: "gated-delta-ode" },
    { title: "Hebb, CDE", model: "hebb-cde" },
    { title: "Oja, CDE", model: "oja-cde" },
    { title: "Delta, CDE", model: "delta-cde" },
  ],
  reference: "neural-cde",
  scales: {
    small: {
      settings: { learningRate: 0.005, hidden: 32, method: "midpoint" },
      seeds: 3,
      differs: "Models with 32 features, trained for 10 or 40 epochs, with another split per seed.",
      hours: 0.7,
    },
  },
};
