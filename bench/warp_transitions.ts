/**
 * Plots WARPs that classify digits from their pixels, with the identity and with rotations as first A: the accuracy
 * over the epochs, the eigenvalues of A, and the angles between the columns A^l B of the convolution kernel.
 *
 *     deno run --allow-read --allow-write=docs bench/warp_transitions.ts data/mnist 30
 */
import {
  accuracy,
  Adam,
  clipByGlobalNorm,
  cosineDecay,
  crossEntropy,
  foldIn,
  key,
  multiplySchedules,
  normal,
  randperm,
  type Tensor,
  tensor,
  tidy,
  valueAndGrad,
  warmup,
  WARP,
  type WARPModel,
  type WARPTransitionInitialization,
} from "../mod.ts";
import type { Chart, Mark } from "../src/charts/chart.ts";
import { chartFile } from "../src/charts/file.ts";
import { pixelSeries, readDigits } from "../tasks/papers/data/mnist.ts";
import { eigenvalues } from "./eigenvalues.ts";

/** Training images, test images, and the batch size. */
const [trained, tested, batchSize] = [2800, 1000, 50];
/** Standard deviation of the noise on the pixels in training. */
const noise = 0.4;
const learningRate = 0.001;
const [folder = "data/mnist", epochCount = "30"] = Deno.args;
const epochs = Number(epochCount);
/** Epochs after which the figure has the eigenvalues of A. */
const shownEpochs = [Math.round(epochs / 10), Math.round(epochs / 3), epochs];

/** Values of a model in the figure. */
interface Course {
  readonly name: string;
  /** Test accuracy after each epoch. */
  readonly accuracies: number[];
  /** Eigenvalues of A, and the cosines of the angles between the kernel's first column and all columns, by a time. */
  readonly spectra: Map<string, { re: number[]; im: number[] }>;
  readonly cosines: Map<string, number[]>;
}

async function digits(): Promise<{ x: Tensor; labels: Tensor }> {
  const read = await readDigits(folder, "t10k");
  if (!read) throw new Error(`${folder}: no test images of MNIST; run deno task download mnist`);
  const { values, shape } = pixelSeries(read, 2);
  const order = randperm(key(0), shape[0]);
  const x = tensor(Float32Array.from(values), { shape }).take(order);
  return { x, labels: tensor(Int32Array.from(read.labels), { dtype: "int32" }).take(order) };
}

/** Trains a WARP of 202 weights, as `deno task train mnist-transitions --hidden 16`. */
async function train(initialization: WARPTransitionInitialization): Promise<Course> {
  const { x, labels } = await digits();
  const model = WARP({
    ...{ inputChannels: 1, outputChannels: 10, output: "logits", initial: "learned", key: key(0) },
    root: { width: 16, depth: 1, activation: "silu" },
    transition: { initialization },
  });
  const optimizer = Adam(model.parameters, { learningRate });
  const perEpoch = trained / batchSize;
  const steps = epochs * perEpoch;
  const schedule = multiplySchedules(warmup({ steps: Math.min(100, steps / 10) }), cosineDecay({ steps }));
  const course: Course = { name: initialization, accuracies: [], spectra: new Map(), cosines: new Map() };
  course.spectra.set("first", await spectrumOf(model));
  const [testX, testLabels] = [x, labels].map((all) => all.slice(0, trained, trained + tested));
  for (let epoch = 0; epoch < epochs; epoch++) {
    const order = randperm(foldIn(key(1), epoch), trained);
    for (let i = 0; i < perEpoch; i++) {
      tidy(() => {
        const places = order.slice(0, i * batchSize, (i + 1) * batchSize);
        const clean = x.take(places);
        const drawn = normal(foldIn(key(2), epoch * perEpoch + i), clean.shape, { standardDeviation: noise });
        const loss = () => crossEntropy(model(clean.add(drawn)), labels.take(places));
        const [, gradients] = valueAndGrad(loss)(model.parameters);
        optimizer.learningRate = learningRate * schedule(epoch * perEpoch + i);
        optimizer.step(clipByGlobalNorm(gradients, 1).gradients);
      });
    }
    const right = await tidy(() => accuracy(model(testX), testLabels)).item();
    course.accuracies.push(right);
    console.log(`${initialization}, epoch ${epoch + 1}: ${(100 * right).toFixed(1)} %`);
    if (shownEpochs.includes(epoch + 1)) {
      course.spectra.set(`after ${epoch + 1} epochs`, await spectrumOf(model));
    }
    // Before the first epoch B is zero.
    if (epoch === 0) course.cosines.set("after 1 epoch", await kernelCosines(model, x.shape[1]));
  }
  course.cosines.set(`after ${epochs} epochs`, await kernelCosines(model, x.shape[1]));
  return course;
}

async function spectrumOf(model: WARPModel) {
  return eigenvalues(await model.transitionMatrix().data(), model.stateSize);
}

/** The cosine of the angle between B and A^l B, for l = 0 ... count - 1. */
async function kernelCosines(model: WARPModel, count: number): Promise<number[]> {
  const A = model.transitionMatrix();
  const first = model.parameters.B;
  const cosines: number[] = [];
  for (let [lag, column] = [0, first]; lag < count; lag++) {
    const length = column.square().sum().mul(first.square().sum()).sqrt();
    cosines.push(await column.mul(first).sum().div(length).item());
    column = tidy(() => A.matmul(column));
  }
  return cosines;
}

const steps = (values: readonly number[], start: number) => values.map((_, i) => start + i);

function accuracyChart(courses: readonly Course[]): Chart {
  return {
    title: "Test accuracy",
    panels: [{
      x: { title: "epoch", isWhole: true },
      y: { title: "accuracy", isPercent: true, includes: [0, 1] },
      marks: courses.map(({ name, accuracies }): Mark => ({
        ...{ kind: "line", name, x: steps(accuracies, 1), y: accuracies },
      })),
    }],
  };
}

function spectrumChart({ name, spectra }: Course): Chart {
  return {
    title: `Eigenvalues of A, ${name}`,
    panels: [{
      x: { title: "angle, in radians", includes: [0, Math.PI] },
      y: { title: "modulus", includes: [0.6, 1.1] },
      marks: [
        { kind: "line", name: "unit circle", style: "reference", x: [0, Math.PI], y: [1, 1] },
        ...Array.from(spectra, ([name, { re, im }]): Mark => ({
          ...{ kind: "points", name },
          // Complex eigenvalues come in pairs, with angles of both signs.
          x: re.map((real, i) => Math.abs(Math.atan2(im[i], real))),
          y: re.map((real, i) => Math.hypot(real, im[i])),
        })),
      ],
    }],
  };
}

function kernelChart(courses: readonly Course[]): Chart {
  return {
    title: "Kernel: cosine of the angle between B and Aˡ B",
    panels: [{
      x: { title: "lag l, in pixels", isWhole: true },
      y: { title: "cosine", includes: [-1, 1] },
      marks: courses.flatMap(({ name, cosines }) =>
        Array.from(cosines, ([when, values], i): Mark => ({
          ...{ kind: "line", name: `${name}, ${when}`, style: i === 0 ? "dashed" : "solid" },
          ...{ x: steps(values, 0), y: values },
        }))
      ),
    }],
  };
}

const courses = [await train("identity"), await train("rotation")];
await Deno.writeTextFile(
  "docs/figures/warp_transitions.svg",
  chartFile([accuracyChart(courses), ...courses.map(spectrumChart), kernelChart(courses)]),
);
