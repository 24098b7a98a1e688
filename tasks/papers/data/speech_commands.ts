import { tensor } from "@weft/weft";
import {
  mfcc,
  parseWav,
  readSafetensors,
  type Series,
  type SeriesSet,
  writeSafetensors,
} from "@weft/weft/data";
import { exists } from "../files.ts";
import { tarEntries } from "./tar.ts";
import { speechCommands } from "../recipes/neural_cde.ts";

/** The ten words that Kidger et al., 2020, section 4.3 classify. All have similar numbers of recordings. */
const words = ["yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go"];
/** Audio samples of a recording of one second. Shorter recordings are skipped, as in the authors' code. */
const samples = 16000;
/** Settings of the coefficients: Kidger et al., 2020, appendix D.4. */
const settings = {
  sampleRate: 16000,
  coefficients: 20,
  windowLength: 200,
  hopLength: 100,
  mels: speechCommands.rules.mels.value,
} as const;
/** Number of recordings per batch when computing features. */
const batchSize = 64;

/** Features of recordings. */
interface Features {
  /** Names of the recordings, such as `yes/0a7c2a8d_nohash_0`. */
  readonly names: readonly string[];
  /** Coefficients, row-major. Shape (recordings, windows, coefficients). */
  readonly values: Float32Array;
  readonly shape: readonly [recordings: number, windows: number, coefficients: number];
}

/**
 * Reads ten words of Speech Commands (Warden, 2018) as series of 161 rows of 20 mel-frequency cepstral
 * coefficients, with the settings of Kidger et al., 2020, appendix D.4. Computing the coefficients takes
 * minutes, so they are cached next to the archive, with `.mfcc.safetensors` instead of `.tar.gz`, if that
 * folder is writable. With the cache the archive is no longer needed.
 *
 * @param path The published archive `speech_commands_v0.02.tar.gz`.
 * @throws {Error} If the archive cannot be read, is damaged, or has no recordings of the words.
 */
export async function readSpeechCommands(path: string): Promise<SeriesSet> {
  const { names, values, shape: [, windows, coefficients] } = await keptFeatures(path);
  const times = Float64Array.from({ length: windows }, (_, window) => window);
  const size = windows * coefficients;
  return {
    name: path,
    channels: Array.from({ length: coefficients }, (_, i) => `coefficient ${i + 1}`),
    times: "number",
    classes: words,
    series: names.map((name, i): Series => ({
      ...{ name, times, label: words.indexOf(name.split("/")[0]) },
      values: Float64Array.from(values.subarray(i * size, (i + 1) * size)),
    })),
  };
}

/** Everything besides the archive that determines the features. */
const settingsText = JSON.stringify({ words, samples, ...settings });

/** Path of the cached features of an archive. */
export function cacheOf(path: string): string {
  return `${path.replace(/(\.tar)?\.gz$/, "")}.mfcc.safetensors`;
}

/**
 * Returns the cached features. Computes them if the cache is missing, belongs to another archive, or was made
 * with other settings.
 */
async function keptFeatures(path: string): Promise<Features> {
  const kept = cacheOf(path);
  const archive = await Deno.stat(path).catch(() => undefined);
  if (await exists(kept)) {
    const { tensors: { features }, metadata } = await readSafetensors(kept);
    const { names, source } = metadata;
    if (metadata.settings === settingsText && (!archive?.isFile || source === `${archive.size}`)) {
      return {
        names: JSON.parse(names),
        values: features.values as Float32Array,
        shape: features.shape as Features["shape"],
      };
    }
  }
  if (!archive?.isFile) {
    const found = archive ? "a folder, not a file" : "no such file";
    throw new Error(`${path}: ${found}; run deno task download speech-commands`);
  }
  const { names, values, shape } = await computeFeatures(path);
  try {
    await writeSafetensors(kept, {
      tensors: { features: { dtype: "float32", shape, values } },
      metadata: { source: `${archive.size}`, settings: settingsText, names: JSON.stringify(names) },
    });
  } catch {
    // If the folder is not writable, the features are recomputed next time.
  }
  return { names, values, shape };
}

/** @throws {Error} If the file is not gzip, or is truncated. */
async function* gunzipped(packed: ReadableStream<BufferSource>, path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* packed.pipeThrough(new DecompressionStream("gzip"));
  } catch (error) {
    throw new Error(
      `${path}: incomplete: the gzip file is truncated or damaged (${(error as Error).message})`,
    );
  }
}

async function computeFeatures(path: string): Promise<Features> {
  using file = await Deno.open(path);
  const names: string[] = [];
  const chunks: Float32Array<ArrayBuffer>[] = [];
  let waiting: Float32Array[] = [];
  let shape: readonly number[] = [];
  const compute = async () => {
    const waveforms = new Float32Array(waiting.length * samples);
    waiting.forEach((waveform, i) => waveforms.set(waveform, i * samples));
    const features = mfcc(tensor(waveforms, { shape: [waiting.length, samples] }), settings).transpose(
      -2,
      -1,
    );
    shape = features.shape.slice(1);
    chunks.push(await features.data() as Float32Array<ArrayBuffer>);
    waiting = [];
  };
  const isWanted = (name: string) => words.includes(name.split("/")[0]) && name.endsWith(".wav");
  const unpacked = gunzipped(file.readable, path);
  for await (const { name, bytes } of tarEntries(unpacked, path, isWanted)) {
    const recording = parseWav(bytes, `${path}/${name}`);
    if (recording.samples.length !== samples) continue;
    names.push(name.replace(/\.wav$/, ""));
    waiting.push(recording.samples);
    if (waiting.length === batchSize) await compute();
  }
  if (waiting.length > 0) await compute();
  if (names.length === 0) {
    throw new Error(`${path}: no recording of one second for the words ${words.join(", ")}`);
  }
  const values = new Float32Array(await new Blob(chunks).arrayBuffer());
  return { names, values, shape: [names.length, shape[0], shape[1]] };
}
