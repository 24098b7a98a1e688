import { accuracy, type PaperTable, type TableColumn } from "./table.ts";

function column(
  title: string,
  drop: number,
  measured: Pick<TableColumn, "measure" | "factor" | "digits" | "better">,
): TableColumn {
  return { title, experiment: "character-trajectories", settings: { drop }, ...measured };
}

const columns: readonly TableColumn[] = [
  ...[0.3, 0.5, 0.7].map((drop) => column(`${100 * drop} % dropped`, drop, accuracy)),
  column("memory, MB", 0.3, { measure: "peak memory", factor: 1e-6, digits: 1, better: "small" }),
];

/** Hidden channels of the models whose vector field is not a network (appendix D.2). */
const wider = { hidden: 47 };
/** Settings of the models without a differential equation. */
const discrete = { ...wider, method: undefined };

/** Neural CDE, table 1: letters with missing observations. */
export const ncdeTable1: PaperTable = {
  name: "ncde-table-1",
  title: "CharacterTrajectories with observations dropped: test accuracy in percent",
  source: "Kidger et al., 2020, table 1",
  columns,
  rows: [
    {
      title: "GRU-ODE",
      model: "gru-ode",
      settings: wider,
      published: [[92.6, 1.6], [86.7, 3.9], [89.9, 3.7], [1.5]],
    },
    {
      title: "GRU-Δt",
      model: "gru-dt",
      settings: discrete,
      published: [[93.6, 2.0], [91.3, 2.1], [90.4, 0.8], [15.8]],
    },
    {
      title: "GRU-D",
      model: "gru-d",
      settings: discrete,
      published: [[94.2, 2.1], [90.2, 4.8], [91.9, 1.7], [17]],
    },
    { title: "ODE-RNN", model: "ode-rnn", published: [[95.4, 0.6], [96.0, 0.3], [95.3, 0.6], [14.8]] },
    { title: "Neural CDE", model: "neural-cde", published: [[98.7, 0.8], [98.8, 0.2], [98.6, 0.4], [1.3]] },
  ],
  reference: "neural-cde",
  scales: {
    paper: {
      settings: {
        recipe: "paper",
        epochs: 1000,
        batchSize: 32,
        learningRate: 0.001,
        hidden: 32,
        method: "rk4",
        dataSeed: 0,
      },
      seeds: 5,
      differs:
        "The paper's settings (appendix D.2), with the factor of the authors' code for the regularisation of weights. Its memory is that of the GPU alone, ours that of the whole process, of which Deno takes some 60 MB.",
      hours: 60,
    },
    small: {
      settings: {
        epochs: 10,
        batchSize: 32,
        learningRate: 0.005,
        hidden: 32,
        method: "midpoint",
        dataSeed: 0,
      },
      seeds: 3,
      differs:
        "10 epochs instead of up to 1,000 with the paper's stopping rules, a learning rate of 0.005 instead of 0.001, the " +
        "midpoint rule instead of rk4, three seeds instead of five.",
      hours: 0.5,
    },
  },
};
