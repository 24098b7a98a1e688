/** Logs of runs for TensorBoard. */
import { encodeEvent, type Event, fileHeader } from "../files/event_file.ts";
import type { EpochMetrics } from "../train/report/epoch_metrics.ts";
import type { RunFolder } from "../train/run/run_folder.ts";

/** Parts of the data, each a folder, so that TensorBoard draws their curves in the same chart. */
type Part = "train" | "validation" | "test";

/** An open log. Disposing closes its files. */
export interface TensorBoardLog extends Disposable {
  /** Writes the loss of an optimiser step, `step/loss`. */
  onLoss(loss: number, step: number): void;
  /** Writes the measures of an epoch, such as `epoch/loss`, at its last optimiser step. */
  onEpoch(metrics: EpochMetrics): void;
  /** Writes the measures of the best weights on the test set. */
  test(measures: Readonly<Record<string, number>>, step: number): void;
}

/** Opens the log of a run: event files in the folders `tensorboard/train`, `validation` and `test`. */
export function tensorBoardLog({ path }: RunFolder): TensorBoardLog {
  const files = new Map<Part, Deno.FsFile>();
  const write = (part: Part, scalars: NonNullable<Event["scalars"]>, step: number) => {
    if (Object.keys(scalars).length === 0) return;
    const wallTime = Date.now() / 1000;
    const isStart = !files.has(part);
    const file = files.get(part) ?? open(`${path}/tensorboard/${part}`, wallTime);
    files.set(part, file);
    // A killed run repeats steps when it is resumed.
    if (isStart) writeAll(file, encodeEvent({ wallTime, step, isStart }));
    writeAll(file, encodeEvent({ wallTime, step, scalars }));
  };
  const ofEpoch = (measures: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(measures).map(([name, value]) => [`epoch/${name}`, value]));
  return {
    onLoss: (loss, step) => write("train", { "step/loss": loss }, step),
    onEpoch({ step, train, validation, learningRate }) {
      write("train", ofEpoch({ ...train, ...(learningRate === undefined ? {} : { learningRate }) }), step);
      write("validation", ofEpoch(validation), step);
    },
    test: (measures, step) => write("test", ofEpoch(measures), step),
    [Symbol.dispose]: () => files.forEach((file) => file.close()),
  };
}

/** Opens a new event file with its header. TensorBoard sorts the files by the time in their names. */
function open(folder: string, wallTime: number): Deno.FsFile {
  Deno.mkdirSync(folder, { recursive: true });
  const name = `events.out.tfevents.${Math.floor(wallTime)}.weft.${Deno.pid}`;
  const file = Deno.openSync(`${folder}/${name}`, { create: true, append: true });
  writeAll(file, fileHeader(wallTime));
  return file;
}

function writeAll(file: Deno.FsFile, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
}
