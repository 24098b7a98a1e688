import type { EpochMetrics, Progress } from "../train/mod.ts";
import { formatDuration } from "../charts/format.ts";
import { printable } from "../device/printable.ts";
import { measuresInWords } from "../train/report/measure_names.ts";
import { print } from "./print.ts";

const barWidth = 24;
const eraseLine = "\r\x1b[2K";

const write = (text: string) => Deno.stdout.writeSync(new TextEncoder().encode(text));
/** Overwrites the current line of the terminal. */
const show = (line: string) => write(eraseLine + printable(line).slice(0, Deno.consoleSize().columns - 1));

/**
 * Prints the progress of training to standard output: a line per epoch, and on a terminal also a bar for the
 * current epoch. `end` removes the bar.
 */
export function progressDisplay(isTerminal = Deno.stdout.isTerminal()) {
  const end = () => isTerminal && write(eraseLine);
  let epochs = 1;
  return {
    end,
    onEpochs: (count: number) => void (epochs = count),
    onEpoch: (metrics: EpochMetrics) => {
      end();
      print(epochLine(metrics, epochs));
    },
    onProgress: isTerminal ? (progress: Progress) => show(progressLine(progress, epochs)) : undefined,
  };
}

/** Minimum time between two updates of a file transfer, in milliseconds. */
const transferPause = 200;

/** Shows a progress bar of a file transfer, if standard output is a terminal. `end` removes the bar. */
export function transferDisplay(isTerminal = Deno.stdout.isTerminal()) {
  if (!isTerminal) return { end() {} };
  let [first, start, last]: (number | undefined)[] = [];
  return {
    end: () => void write(eraseLine),
    onProgress(bytes: number, total: number | undefined) {
      const now = performance.now();
      start ??= now;
      first ??= bytes;
      if (last !== undefined && now - last < transferPause) return;
      last = now;
      show(transferLine(bytes, total, (bytes - first) / Math.max(1, now - start) * 1000));
    },
  };
}

/** Progress line of a file transfer. @param speed Bytes per second. */
export function transferLine(bytes: number, total: number | undefined, speed: number): string {
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);
  const pace = `${megabytes(speed)} MB/s`;
  if (total === undefined) return `${megabytes(bytes)} MB  ${pace}`;
  const left = speed > 0 ? `  ${formatDuration((total - bytes) / speed)} left` : "";
  return `${bar(bytes / total)} ${megabytes(bytes)} of ${megabytes(total)} MB  ${pace}${left}`;
}

/** A bar that is filled to a fraction from 0 to 1. */
function bar(share: number): string {
  const filled = Math.round(share * barWidth);
  return "█".repeat(filled) + "░".repeat(barWidth - filled);
}

/** Measures as a line of text. */
export function measuresText(measures: Readonly<Record<string, number>>): string {
  return measuresInWords(measures).map(([name, value]) => `${name} ${value}`).join(", ");
}

/**
 * Line of an epoch. The line has only validation measures that training also has; `metrics.jsonl` has all.
 */
export function epochLine({ epoch, train, validation, seconds }: EpochMetrics, epochs: number): string {
  const number = `${epoch}`.padStart(`${epochs}`.length);
  const shared = Object.fromEntries(Object.entries(validation).filter(([name]) => name in train));
  const validated = Object.keys(shared).length > 0 ? `validation ${measuresText(shared)}  ` : "";
  return `epoch ${number}/${epochs}  train ${measuresText(train)}  ${validated}${formatDuration(seconds)}`;
}

/** Progress line of the current epoch. */
export function progressLine(progress: Progress, epochs: number): string {
  const { epoch, batch, batches, measures, samplesPerSecond, secondsLeft } = progress;
  const number = `${epoch}`.padStart(`${epochs}`.length);
  return `epoch ${number}/${epochs} ${bar(batch / batches)} ${measuresText(measures)}  ${
    Math.round(samplesPerSecond)
  } samples/s  ` +
    `${formatDuration(secondsLeft)} left`;
}
