/** WARP, tables 1 and 9: image completion, pixel by pixel. */
import { valuesOf } from "../recipes/recipe.ts";
import { mnist, recurrent, s4 } from "../recipes/warp_images.ts";
import {
  type Chosen,
  type PaperTable,
  published,
  type Scale,
  type TableColumn,
  type TableRow,
  type TableScale,
} from "./table.ts";

const paper = { recipe: "paper", ...valuesOf(mnist.settings) } as const;
const small = { epochs: 4, samples: 8500, fromTestImages: true };

/**
 * Columns with the squared error and the bits per dimension, in values from 0 to 1, of images with `rows` rows, after `context` of
 * 784 pixels or the same share.
 */
function errors(title: string, experiment: string, rows: number, context: number): TableColumn[] {
  const length = rows ** 2;
  const at = { paper: { ...paper, length }, small: { ...small, length } };
  const problem = { experiment, at, factor: 1, digits: 3, better: "small" } as const;
  return [
    { ...problem, title: `${title}MSE`, measure: `mse after ${context}/784 in [0, 1]` },
    { ...problem, title: `${title}BPD`, measure: `bpd after ${context}/784 in [0, 1]` },
  ];
}

/** A learning rate of the short recipe. */
const rate = (learningRate: number): { at: { small: Chosen } } => ({ at: { small: { learningRate } } });
const { gruUnits, lstmUnits } = valuesOf(recurrent.rules);
const gru = { at: { paper: { units: gruUnits }, ...rate(0.003).at } };
const lstm = { at: { paper: { units: lstmUnits }, ...rate(0.003).at } };
const s4d = { at: { paper: valuesOf(s4.settings), ...rate(0.003).at } };
/** Hundreds of transitions by the same matrix only stay stable if its elements change slowly. */
const warp = rate(0.00002);

function row(title: string, model: string, numbers: string, others: Partial<TableRow>): TableRow {
  return { title, model, ...others, published: published(numbers) };
}

const scales: Record<Scale, TableScale> = {
  paper: {
    seeds: 3,
    differs:
      "The settings of docs/research/recipes.md. The paper reports the best of three runs. 59,500 of its 60,000 training images are for " +
      "training, 500 for validation; in its code the test set is the validation set. S4 is S4D, whose six layers of 512 have 3.26 M parameters; " +
      "the paper's S4 has 1.717 M. " +
      "Errors are those of values from 0 to 1: docs/research/errata.md.",
    hours: 3000,
  },
  small: {
    seeds: 1,
    differs:
      "8,500 of the test images, which are not tested, instead of 60,000 training images; root networks of one hidden layer of 16 instead of three of 24; Adam for 4 epochs instead of " +
      "AdaBelief for 200. Errors are those of values from 0 to 1: docs/research/errata.md.",
    hours: 1,
  },
};

/** No values are published for images of 14 by 14 pixels. */
const smaller = " ? ? ? ? ? ?";

/**
 * WARP, table 1, without CelebA. In addition to the paper's images, where one run provides all columns, it
 * has smaller images.
 */
export const warpTable1: PaperTable = {
  name: "warp-table-1",
  title: "Completion of MNIST's digits after 100, 300 and 600 pixels of 784 (S4 in its diagonal form)",
  source: "Nzoyem et al., 2025, table 1 (MNIST)",
  columns: [28, 14].flatMap((rows) =>
    [100, 300, 600].flatMap((context) =>
      errors(`${rows} × ${rows}, ${context}: `, "mnist-completion", rows, context)
    )
  ),
  rows: [
    row("GRU", "gru", "0.074 0.623 0.054 0.573 0.015 0.485" + smaller, gru),
    row("LSTM", "lstm", "0.074 0.652 0.057 0.611 0.027 0.539" + smaller, lstm),
    row("S4", "s4d", "0.072 0.64 0.049 0.52 0.019 0.406" + smaller, s4d),
    row("WARP", "warp", "0.071 0.615 0.042 0.516 0.014 0.416" + smaller, warp),
  ],
  reference: "warp",
  scales,
};

/** WARP, table 9. The paper does not state the context; 300 is assumed. */
export const warpTable9: PaperTable = {
  name: "warp-table-9",
  title: "Completion of Fashion-MNIST's clothes",
  source: "Nzoyem et al., 2025, table 9",
  columns: errors("", "fashion-mnist-completion", 28, 300),
  rows: [
    row("GRU", "gru", "0.078 0.66", gru),
    row("LSTM", "lstm", "0.082 0.73", lstm),
    row("WARP", "warp", "0.064 0.59", warp),
  ],
  reference: "warp",
  scales,
};
