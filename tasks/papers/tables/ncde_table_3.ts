import { speechAccuracy } from "./speech_and_sepsis.ts";
import type { PaperTable } from "./table.ts";

/** Hidden channels of the models whose vector field is not a network (appendix D.4). */
const wider = { at: { paper: { hidden: 160 } } };
/** Settings of the models without a differential equation. */
const discrete = { ...wider, settings: { method: undefined } };

/** Neural CDE, table 3: regular series. */
export const ncdeTable3: PaperTable = {
  name: "ncde-table-3",
  title: "Speech Commands: test accuracy",
  source: "Kidger et al., 2020, table 3",
  columns: [
    speechAccuracy,
    {
      ...speechAccuracy,
      title: "memory, GB",
      measure: "peak memory",
      factor: 1e-9,
      digits: 3,
      better: "small",
    },
  ],
  rows: [
    { title: "GRU-ODE", model: "gru-ode", ...wider, published: [[47.9, 2.9], [0.164]] },
    { title: "GRU-Δt", model: "gru-dt", ...discrete, published: [[43.3, 33.9], [1.54]] },
    { title: "GRU-D", model: "gru-d", ...discrete, published: [[32.4, 34.8], [1.64]] },
    {
      title: "ODE-RNN",
      model: "ode-rnn",
      at: { paper: { hidden: 128, width: 64, depth: 4 } },
      published: [[65.9, 35.6], [1.4]],
    },
    {
      title: "Neural CDE",
      model: "neural-cde",
      at: { paper: { hidden: 90, width: 40, depth: 4 } },
      published: [[89.8, 2.5], [0.167]],
    },
  ],
  reference: "neural-cde",
  scales: {
    paper: {
      seeds: 5,
      differs:
        "The paper's settings (appendix D.4). Its memory is that of the GPU alone, ours that of the whole process.",
      hours: 2000,
    },
    small: {
      seeds: 3,
      differs:
        "2,000 of the 34,975 recordings, 32 channels, and 10 epochs of the midpoint rule instead of up to 200 of rk4 with the paper's " +
        "stopping rules.",
      hours: 3,
    },
  },
};
