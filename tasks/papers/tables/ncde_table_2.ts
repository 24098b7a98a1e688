import { sepsisAuc } from "./speech_and_sepsis.ts";
import type { PaperTable, TableColumn } from "./table.ts";

const auc = { factor: 1, digits: 3 };

function memory(title: string, column: TableColumn): TableColumn {
  return { ...column, title, measure: "peak memory", factor: 1e-6, digits: 0, better: "small" };
}

const [withIntensity, without] = [sepsisAuc(true, auc), sepsisAuc(false, auc)];

/** Hidden channels of the models whose vector field is not a network (appendix D.3). */
const wider = { at: { paper: { hidden: 187 } } };
/** Settings of the models without a differential equation. */
const discrete = { ...wider, settings: { method: undefined } };

/** Neural CDE, table 2: sepsis, with and without observational intensity. */
export const ncdeTable2: PaperTable = {
  name: "ncde-table-2",
  title: "Sepsis with and without observational intensity: area under the curve of the test",
  source: "Kidger et al., 2020, table 2",
  columns: [withIntensity, without, memory("OI, MB", withIntensity), memory("no OI, MB", without)],
  rows: [
    {
      title: "GRU-ODE",
      model: "gru-ode",
      ...wider,
      published: [[0.852, 0.01], [0.771, 0.024], [454], [273]],
    },
    {
      title: "GRU-Δt",
      model: "gru-dt",
      ...discrete,
      published: [[0.878, 0.006], [0.84, 0.007], [837], [826]],
    },
    { title: "GRU-D", model: "gru-d", ...discrete, published: [[0.871, 0.022], [0.85, 0.013], [889], [878]] },
    {
      title: "ODE-RNN",
      model: "ode-rnn",
      at: { paper: { hidden: 128, width: 128, depth: 4 } },
      published: [[0.874, 0.016], [0.833, 0.02], [696], [686]],
    },
    {
      title: "Neural CDE",
      model: "neural-cde",
      at: { paper: { hidden: 49, width: 49, depth: 4 } },
      published: [[0.88, 0.006], [0.776, 0.009], [244], [122]],
    },
  ],
  reference: "neural-cde",
  scales: {
    paper: {
      seeds: 5,
      differs:
        "The paper's settings (appendix D.3). Its memory is that of the GPU alone, ours that of the whole process.",
      hours: 1000,
    },
    small: {
      seeds: 3,
      differs:
        "4,000 of the 40,335 patients, 32 channels, and 5 epochs of the midpoint rule instead of up to 200 of rk4 with the paper's " +
        "stopping rules.",
      hours: 2,
    },
  },
};
