/// <reference lib="dom" />
/** Models that come with the page, trained when the site is built. */
import type { DataName } from "./messages.ts";

/** Archives of runs on data of the page: the data and the model of each. */
export const trainedModels: readonly (readonly [data: DataName, model: string])[] = [
  ["spirals", "neural-cde"],
  ["spirals", "delta-cde"],
  ["spirals", "warp"],
  ["future", "autoregression"],
];

/** Name of an archive, beside the page. The archive is compressed by gzip, since few servers compress it. */
export function trainedName(data: string, model: string): string {
  return `trained-${data}-${model}.run`;
}

/** Loads the archive of a model. Undefined if the page has none. */
export async function trainedFile(data: DataName, model: string): Promise<File | undefined> {
  if (!trainedModels.some(([name, kind]) => name === data && kind === model)) return undefined;
  const name = trainedName(data, model);
  const response = await fetch(new URL(name, import.meta.url));
  if (!response.ok) return undefined;
  const archive = response.body!.pipeThrough(new DecompressionStream("gzip"));
  return new File([await new Response(archive).arrayBuffer()], "trained.zip");
}
