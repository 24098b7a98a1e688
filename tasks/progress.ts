import type { EpochMetrics, Progress } from "../src/train/mod.ts";
import { formatMeasure, formatSeconds } from "../src/train/mod.ts";

const barWidth = 24;
const eraseLine = "\r\x1b[2K";

/** Shows how a training goes: a line an epoch, and on a terminal a bar for the epoch that runs. */
export interface ProgressDisplay {
  readonly onEpoch: (metrics: EpochMetrics) => void;
  /** Shows the bar; undefined where there is no terminal. */
  readonly onProgress?: (progress: Progress) => void;
  /** Removes the bar. */
  readonly end: () => void;
}

/** A display on standard output. */
export function progressDisplay(epochs: number, isTerminal = Deno.stdout.isTerminal()): ProgressDisplay {
  const write = (text: string) => Deno.stdout.writeSync(new TextEncoder().encode(text));
  const end = () => isTerminal && write(eraseLine);
  return {
    end,
    onEpoch: (metrics) => {
      end();
      console.log(epochLine(metrics, epochs));
    },
    onProgress: isTerminal
      ? (progress) =>
        write(eraseLine + progressLine(progress, epochs).slice(0, Deno.consoleSize().columns - 1))
      : undefined,
  };
}

function measuresText(measures: Readonly<Record<string, number>>): string {
  return Object.entries(measures).map(([name, value]) => `${name} ${formatMeasure(name, value)}`).join(", ");
}

/** Line of an epoch: of the validation the measures that training has too; `metrics.jsonl` holds all. */
export function epochLine({ epoch, train, validation, seconds }: EpochMetrics, epochs: number): string {
  const number = `${epoch}`.padStart(`${epochs}`.length);
  const shared = Object.fromEntries(Object.entries(validation).filter(([name]) => name in train));
  return `epoch ${number}/${epochs}  train ${measuresText(train)}  validation ${measuresText(shared)}  ` +
    formatSeconds(seconds);
}

/** Line that changes during an epoch. */
export function progressLine(progress: Progress, epochs: number): string {
  const { epoch, batch, batches, measures, samplesPerSecond, secondsLeft } = progress;
  const filled = Math.round(batch / batches * barWidth);
  const bar = "█".repeat(filled) + "░".repeat(barWidth - filled);
  const number = `${epoch}`.padStart(`${epochs}`.length);
  return `epoch ${number}/${epochs} ${bar} ${measuresText(measures)}  ${
    Math.round(samplesPerSecond)
  } samples/s  ` +
    `${formatSeconds(secondsLeft)} left`;
}
