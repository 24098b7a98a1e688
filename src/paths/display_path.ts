/** Paths in notebooks. */
import { chartBundle } from "../charts/display.ts";
import type { MimeBundle } from "../charts/display_symbol.ts";
import { lineChart } from "../tensor/figures.ts";
import type { Path } from "./path.ts";

/** Number of times at which a path is drawn, beside its grid points. */
const drawnTimes = 200;

/** The channels of the first series of a path as lines over time. */
export async function displayPath(X: Path): Promise<MimeBundle> {
  const grid = await gridOfFirst(X);
  const [start, end] = [grid[0], grid[grid.length - 1]];
  const between = Array.from({ length: drawnTimes }, (_, i) => start + (end - start) * i / (drawnTimes - 1));
  const times = [...new Set([...between, ...grid])].sort((a, b) => a - b);
  const evaluated = X.evaluate(times);
  const channels = evaluated.shape.at(-1)!;
  const series = evaluated.size / (times.length * channels);
  const values = await evaluated.reshape([series, times.length, channels]).slice(0, 0, 1).data();
  const title = `Path with ${channels} channel${channels === 1 ? "" : "s"}${
    series > 1 ? `: series 1 of ${series}` : ""
  }`;
  const lines = Array.from({ length: channels }, (_, channel) => ({
    name: `channel ${channel}`,
    values: times.map((_, i) => values[i * channels + channel]),
  }));
  return chartBundle([lineChart(title, times, lines)]);
}

/** Times of the first series. Times that all series share are exact. */
async function gridOfFirst(X: Path): Promise<ArrayLike<number> & Iterable<number>> {
  if (X.gridPoints.rank === 1) return X.times;
  const times = await X.gridPoints.data();
  return times.subarray(0, X.gridPoints.shape.at(-1)!);
}
