/** Completion of the faces of CelebA. */
import { OptionError } from "@weft/weft";
import { mapSplits, randpermArray } from "@weft/weft/data";
import { digestOf, type ModelExperiment, type RecordedSeries } from "@weft/weft/series";
import { type Faces, openFaces } from "../data/celeba.ts";
import { timesUpTo } from "../data/trajectories.ts";
import { valuesOf } from "../recipes/recipe.ts";
import { celeba, convCnp, recurrent } from "../recipes/warp_images.ts";
import { type CompletedImages, imageCompletion } from "./image_completion.ts";

const paper = valuesOf(celeba.rules);
const { celebaGruUnits, celebaLstmUnits } = valuesOf(recurrent.rules);
/** Numbers of faces that are read. Settings can change the number of training faces. */
const counts = { train: 4000, validation: 500, test: 1000 };
/** Smallest and largest number of rows. The photographs have 178 columns. */
const [minSide, maxSide] = [2, 178];

/** Completes faces of CelebA, by default of 16 by 16 pixels. */
export const celebaCompletion: ModelExperiment = imageCompletion({
  name: "celeba-completion",
  summary: "complete faces of CelebA, pixel by pixel",
  data: "data/celeba",
  channels: ["red", "green", "blue"],
  length: 256,
  recipe: celeba,
  ofModels: {
    "gru": { units: celebaGruUnits },
    "lstm": { units: celebaLstmUnits },
    "conv-cnp": valuesOf(convCnp.settings),
  },
  sideOf,
  model({ model, depth = 1, clipWeights, recipe }) {
    return recipe === "paper"
      // The published file gives the time to WARP alone.
      ? { root: { depth, activation: paper.activation }, clipWeights, time: model === "warp" && paper.time }
      : { root: { depth, activation: "silu", frequencies: 5, previousInput: true }, clipWeights };
  },
  async read(settings, side, key) {
    const faces = await openFaces(settings.data!);
    const wanted = {
      ...counts,
      // The paper tests on all test images.
      ...(settings.recipe === "paper" ? mapSplits(faces.names, ({ length }) => length) : {}),
      ...(settings.samples === undefined ? {} : { train: settings.samples }),
    };
    const choose = (part: keyof typeof wanted) => {
      const names = faces.names[part];
      if (part === "train" && wanted.train > names.length) throw tooMany(settings.data!, names.length);
      return [...randpermArray(key, names.length).subarray(0, wanted[part])].map((i) => names[i]);
    };
    return {
      splits: {
        train: await readFaces(faces, choose("train"), side),
        validation: await readFaces(faces, choose("validation"), side),
        test: await readFaces(faces, choose("test"), side),
      },
    };
  },
  async readTest(folder, side) {
    const faces = await openFaces(folder);
    return await readFaces(faces, faces.names.test, side);
  },
});

/** Rows of a square of `length` pixels. @throws {OptionError} If there is no such square. */
function sideOf(length: number): number {
  const side = Math.sqrt(length);
  if (Number.isInteger(side) && side >= minSide && side <= maxSide) return side;
  const expected = `the square of a number of rows from ${minSide} to ${maxSide}, for example 1024`;
  throw new OptionError("invalid-option", (write) => `${write("length")} ${length}: expected ${expected}`, {
    option: "length",
    expected,
  });
}

function tooMany(folder: string, count: number): OptionError {
  return new OptionError("invalid-option", `${folder}: ${count} training images, expected more`, {
    option: "samples",
    fixes: [(write) => `choose at most ${count} ${write("samples")}`],
  });
}

async function readFaces(faces: Faces, names: readonly string[], side: number): Promise<CompletedImages> {
  const size = side ** 2 * 3;
  const values = new Float64Array(names.length * size);
  const recorded: RecordedSeries[] = [];
  for (const [i, name] of names.entries()) {
    const { pixels } = await faces.read(name, side);
    pixels.forEach((byte, j) => values[i * size + j] = byte / 127.5 - 1);
    const position = Number.parseInt(name) - 1;
    recorded.push({ name, position, digest: await digestOf("", Float64Array.from(pixels)) });
  }
  const shape = [names.length, side ** 2, 3] as const;
  return { recorded, series: { times: timesUpTo(1, side ** 2), values, shape } };
}
