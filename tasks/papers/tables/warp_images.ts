/** WARP, tables 1 and 9: image completion, pixel by pixel. */
import { valuesOf } from "../recipes/recipe.ts";
import { celeba, convCnp, mnist, recurrent, s4 } from "../recipes/warp_images.ts";
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

/** Columns with the squared error and the bits per dimension, in values from 0 to 1, after a part of an image. */
function errors(
  title: string,
  after: string,
  problem: Pick<TableColumn, "experiment" | "at">,
): TableColumn[] {
  const column = { ...problem, factor: 1, digits: 3, better: "small" } as const;
  return [
    { ...column, title: `${title}MSE`, measure: `mse after ${after} in [0, 1]` },
    { ...column, title: `${title}BPD`, measure: `bpd after ${after} in [0, 1]` },
  ];
}

/** Columns of grey images with `rows` rows, after `context` of 784 pixels or the same share. */
function greyErrors(title: string, experiment: string, rows: number, context: number): TableColumn[] {
  const length = rows ** 2;
  const at = { paper: { ...paper, length }, small: { ...small, length } };
  return errors(title, `${context}/784`, { experiment, at });
}

/** Columns of CelebA, after `context` of 1,024 pixels or the same share. */
function faceErrors(context: number): TableColumn[] {
  const at = {
    paper: { recipe: "paper", ...valuesOf(celeba.settings) },
    small: { epochs: 4, samples: 8500, length: 256 },
  } as const;
  return errors(`CelebA, ${context}: `, `${context}/1024`, { experiment: "celeba-completion", at });
}

/** A learning rate of the short recipe. */
const rate = (learningRate: number): { at: { small: Chosen } } => ({ at: { small: { learningRate } } });
const { gruUnits, lstmUnits, celebaGruUnits, celebaLstmUnits } = valuesOf(recurrent.rules);
const gru = { at: { paper: { units: gruUnits }, ...rate(0.003).at } };
const lstm = { at: { paper: { units: lstmUnits }, ...rate(0.003).at } };
/** Settings of a row on CelebA, at the scale of the paper. */
const onFaces = (chosen: Chosen): Pick<TableRow, "paper"> => ({
  paper: [...Array<undefined>(12).fill(undefined), ...Array<Chosen>(6).fill(chosen)],
});
const cnp = { at: { paper: valuesOf(convCnp.settings), ...rate(0.001).at } };
const s4d = { at: { paper: valuesOf(s4.settings), ...rate(0.003).at } };
/** Hundreds of transitions by the same matrix only stay stable if its elements change slowly. */
const warp = rate(0.00002);

function row(title: string, model: string, numbers: string, others: Partial<TableRow>): TableRow {
  return { title, model, ...others, published: published(numbers) };
}

/** Appendix B.2. */
const s4Differs =
  "The paper's S4 reads the given pixels and a mask for each other pixel in one pass. Weft's S4D feeds back " +
  "its predictions, pixel by pixel.";

const scales: Record<Scale, TableScale> = {
  paper: {
    seeds: 3,
    differs:
      "The settings of docs/research/recipes.md. The paper reports the best of three runs. 59,500 of the " +
      "60,000 training images are the training set, and 500 the validation set. CelebA has its published " +
      "validation set. The paper validates on the test set. S4 is S4D with six layers of 512, which have " +
      "3.26 M parameters; the paper's S4 has 1.717 M. " +
      `${s4Differs} The ConvCNP has five residual blocks of 128 features, because the paper does not state its ` +
      "sizes. Errors are of values from 0 to 1: docs/research/errata.md.",
    hours: 3000,
  },
  small: {
    seeds: 1,
    differs:
      "8,500 of the test images, outside the test set of the run, instead of 60,000 training images. " +
      "Root networks with one hidden layer of 16 instead of three of 24. Adam for 4 epochs instead of " +
      "AdaBelief for 200 (CelebA: 250). CelebA: 8,500 faces of 16 by 16 pixels instead of 162,770 of 32 by " +
      `32. ${s4Differs} Errors are of values from 0 to 1: docs/research/errata.md.`,
    hours: 1,
  },
};

/** No values are published for images of 14 by 14 pixels. */
const smaller = " ? ? ? ? ? ? ";
/** The paper does not have the model on one of the data sets. */
const none = "- - - - - -";

/**
 * WARP, table 1. In addition to the paper's images, where one run provides all columns of a data set, it has
 * smaller images.
 */
export const warpTable1: PaperTable = {
  name: "warp-table-1",
  title:
    "Completion of MNIST's digits after 100, 300 and 600 pixels of 784, and of CelebA's faces after as many of 1,024 (S4 in its diagonal form)",
  source: "Nzoyem et al., 2025, table 1",
  columns: [
    ...[28, 14].flatMap((rows) =>
      [100, 300, 600].flatMap((context) =>
        greyErrors(`${rows} × ${rows}, ${context}: `, "mnist-completion", rows, context)
      )
    ),
    ...[100, 300, 600].flatMap(faceErrors),
  ],
  rows: [
    row(
      "GRU",
      "gru",
      `0.074 0.623 0.054 0.573 0.015 0.485${smaller}0.063 24.14 0.048 60.39 0.027 71.51`,
      { ...gru, ...onFaces({ units: celebaGruUnits }) },
    ),
    row(
      "LSTM",
      "lstm",
      `0.074 0.652 0.057 0.611 0.027 0.539${smaller}0.064 3869 0.053 7.276 0.032 7.909`,
      { ...lstm, ...onFaces({ units: celebaLstmUnits }) },
    ),
    row("S4", "s4d", `0.072 0.64 0.049 0.52 0.019 0.406${smaller}${none}`, s4d),
    row("ConvCNP", "conv-cnp", `${none} ${none} 0.080 1.498 0.100 39.91 0.132 248.1`, cnp),
    row(
      "WARP",
      "warp",
      `0.071 0.615 0.042 0.516 0.014 0.416${smaller}0.051 0.052 0.040 -0.043 0.027 -0.162`,
      warp,
    ),
  ],
  reference: "warp",
  scales,
};

/** WARP, table 9. The paper does not state the number of given pixels. */
export const warpTable9: PaperTable = {
  name: "warp-table-9",
  title:
    "Completion of Fashion-MNIST's clothes after 300 pixels of 784 (the paper does not state the number)",
  source: "Nzoyem et al., 2025, table 9",
  columns: greyErrors("", "fashion-mnist-completion", 28, 300),
  rows: [
    row("GRU", "gru", "0.078 0.66", gru),
    row("LSTM", "lstm", "0.082 0.73", lstm),
    row("WARP", "warp", "0.064 0.59", warp),
  ],
  reference: "warp",
  scales,
};
