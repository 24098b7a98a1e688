/**
 * Keeps the states of streams in a folder, so that they survive a restart or a crash of the server.
 *
 * Two files are used in turn. A file has the states of all streams, and then each observation, before it is
 * answered. When a file becomes long, the other one is written. The old file stays valid until then. Both
 * files stay open, so that the server needs no permission for files while it runs.
 */
import { OptionError } from "../../device/errors.ts";
import { checkOptions, namesOf } from "../../device/options.ts";
import { isCount, isNumber, isRecord, parseJson } from "../../files/json.ts";
import { makeFolder } from "../../files/disk.ts";
import type { PredictionStreamState } from "../../series/record/predictions.ts";
import type { StreamJournal, Streams } from "./streams.ts";

/** Keeps the states of streams in files. */
export interface StreamStore extends StreamJournal {
  /** Loads the kept streams, and keeps all changes from then on. Returns the number of streams. */
  start(streams: Streams, onFailure: (error: unknown) => void): Promise<number>;
  /** Writes all changes, and closes the files. */
  close(): Promise<void>;
}

/** A line of a file. Times and values are those that the model reads. */
type Line =
  | { readonly series: string; readonly state: PredictionStreamState }
  | {
    readonly series: string;
    readonly time: number;
    readonly values: (number | null)[];
    readonly count: number;
  }
  | { readonly series: string; readonly dropped: true };

/** First line of a file. The higher number is the newer file. `complete` follows the states. */
interface Head {
  readonly format: "weft-streams-1";
  readonly run: string;
  readonly number: number;
}

/** Milliseconds of work before other events are handled, and before a failed write is repeated. */
const [slice, retryAfter] = [5, 10_000];

const optionNames = namesOf<{ longJournal?: number }>()("longJournal?");

/**
 * Opens the store of a folder. The folder is made if missing.
 *
 * @param run Identity of the run's model. States of another model are rejected.
 * @param options `longJournal`: bytes of observations after which the states are written again, unless the
 * states are longer; 16 MiB by default.
 * @throws {OptionError} If another server uses the folder, or its states are of another model.
 */
export async function openStreamStore(
  folder: string,
  run: string,
  options: { longJournal?: number } = {},
): Promise<StreamStore> {
  checkOptions("openStreamStore", options, optionNames);
  const { longJournal = 2 ** 24 } = options;
  await makeFolder(folder);
  const files = await Promise.all(
    [0, 1].map((i) => Deno.open(`${folder}/streams-${i}.jsonl`, { read: true, write: true, create: true })),
  );
  const reject = (problem: string): never => {
    throw new OptionError("invalid-option", (write) => `${write("state")} ${folder}: ${problem}`, {
      option: "state",
    });
  };
  if (!await files[0].tryLock(true)) reject("another server uses the folder");
  const kept = await newestOf(files);
  if (kept && kept.head.run !== run) reject("the streams are of another model; choose another folder");

  let number = kept?.head.number ?? 0;
  let current = kept?.index ?? 1;
  let streams: Streams | undefined;
  let fail: (error: unknown) => void = () => {};
  let [stateBytes, journalBytes, retryAt] = [0, 0, 0];
  let rewriting: Promise<void> | undefined;
  let isNextOpen = false;
  const writers = files.map((file) =>
    writerOf(file, (error) => {
      fail(error);
      // The file may end in the middle of a line. Write the other file.
      [journalBytes, retryAt] = [Infinity, performance.now() + retryAfter];
    })
  );

  const keep = async (text: string): Promise<void> => {
    journalBytes += text.length;
    const isLong = journalBytes > Math.max(longJournal, stateBytes) && performance.now() >= retryAt;
    if (isLong && !rewriting) void rewrite();
    await Promise.all(
      writers.filter((_, i) => i === current || isNextOpen).map((writer) => writer.write(text)),
    );
  };

  /** Writes all states to the other file, which then is the current one. Until then, both get the changes. */
  const rewrite = (): Promise<void> => {
    const next = writers[1 - current];
    const write = async () => {
      await next.clear();
      const head: Head = { format: "weft-streams-1", run, number: ++number };
      void next.write(`${JSON.stringify(head)}\n`);
      isNextOpen = true;
      let written = 0;
      let start = performance.now();
      for (const series of streams!.names()) {
        await streams!.withState(series, (state) => {
          const text = `${JSON.stringify({ series, state })}\n`;
          written += text.length;
          void next.write(text);
        });
        if (performance.now() - start > slice) {
          await next.flushed();
          await new Promise((resolve) => setTimeout(resolve));
          start = performance.now();
        }
      }
      await next.complete();
      current = 1 - current;
      [stateBytes, journalBytes] = [written, 0];
    };
    rewriting = write().catch((error) => fail(error)).finally(() => {
      rewriting = undefined;
      isNextOpen = false;
    });
    return rewriting;
  };

  return {
    observed: (series, time, values, count) =>
      streams
        ? keep(
          `{"series":${JSON.stringify(series)},"time":${numberText(time)},"values":[${
            Array.from(values, numberText)
          }],"count":${count}}\n`,
        )
        : Promise.resolve(),
    replaced: (series, state) => streams ? keep(`${JSON.stringify({ series, state })}\n`) : Promise.resolve(),
    dropped: (series) => streams ? keep(`${JSON.stringify({ series, dropped: true })}\n`) : Promise.resolve(),
    async start(loaded, onFailure) {
      fail = onFailure;
      await replay(kept?.lines ?? [], loaded, onFailure);
      streams = loaded;
      await rewrite();
      return loaded.count;
    },
    async close() {
      await rewriting;
      for (const [i, writer] of writers.entries()) {
        await writer.flushed();
        files[i].close();
      }
    },
  };
}

/** A number that is read back with the same bits; null for NaN. */
function numberText(value: number): string {
  return Number.isNaN(value) ? "null" : Object.is(value, -0) ? "-0" : `${value}`;
}

/** Applies the lines of a file to streams. Series are computed in parallel. */
async function replay(
  lines: readonly Line[],
  streams: Streams,
  onFailure: (error: unknown) => void,
): Promise<void> {
  const counts = new Map<string, number>();
  const last = new Map<string, Promise<void>>();
  const apply = (series: string, change: () => Promise<void> | void) =>
    last.set(series, (last.get(series) ?? Promise.resolve()).then(change).catch(onFailure));
  for (const line of lines) {
    const { series } = line;
    if ("state" in line) {
      counts.set(series, line.state.count);
      apply(series, () => streams.restore(series, line.state));
    } else if ("dropped" in line) {
      counts.delete(series);
      apply(series, () => streams.drop(series));
    } else if (line.count === (counts.get(series) ?? 0) + 1) {
      counts.set(series, line.count);
      const values = line.values.map((value) => value ?? NaN);
      apply(series, () => streams.observe(series, line.time, values));
    }
  }
  await Promise.all(last.values());
}

/** The newest complete file. */
async function newestOf(files: readonly Deno.FsFile[]) {
  const complete = (await Promise.all(files.map(async (file, index) => {
    const { size } = await file.stat();
    const bytes = new Uint8Array(size);
    for (let at = 0; at < size;) at += await file.read(bytes.subarray(at)) ?? size;
    const [first, ...rest] = new TextDecoder().decode(bytes).split("\n");
    // The text after the last line end is a line that was not written completely.
    const lines = rest.slice(0, -1);
    const head = parseJson(first) as Head | undefined;
    if (!isRecord(head) || head.format !== "weft-streams-1" || !lines.includes(completeLine)) {
      return undefined;
    }
    return { index, head, lines: lines.map(parseJson).filter(isLine) };
  }))).filter((one) => one !== undefined);
  return complete.sort((a, b) => b.head.number - a.head.number).at(0);
}

const completeLine = '{"complete":true}';

function isLine(value: unknown): value is Line {
  if (!isRecord(value) || typeof value.series !== "string") return false;
  return isRecord(value.state) && isCount(value.state.count, 1) || value.dropped === true ||
    isNumber(value.time) && Array.isArray(value.values) && isCount(value.count, 1);
}

/** Appends texts to a file. Texts that arrive during a write are written together. */
function writerOf(file: Deno.FsFile, onFailure: (error: unknown) => void) {
  let pending: string[] = [];
  let writing: Promise<void> | undefined;
  const flush = async () => {
    // Wait for texts of the same moment.
    await Promise.resolve();
    try {
      while (pending.length > 0) {
        const bytes = new TextEncoder().encode(pending.join(""));
        pending = [];
        for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
      }
    } catch (error) {
      onFailure(error);
    } finally {
      writing = undefined;
    }
  };
  const flushed = () => writing ??= flush();
  return {
    /** Resolves when the text is in the file. */
    write(text: string): Promise<void> {
      pending.push(text);
      return flushed();
    },
    /** Resolves when all texts are in the file. */
    flushed,
    /** Removes the content of the file. */
    async clear() {
      await flushed();
      await file.truncate(0);
      await file.seek(0, Deno.SeekMode.Start);
    },
    /** Marks the file as complete. Its content is on the disk then. */
    async complete() {
      await flushed();
      await file.syncData();
      pending.push(`${completeLine}\n`);
      await flushed();
      await file.syncData();
    },
  };
}
