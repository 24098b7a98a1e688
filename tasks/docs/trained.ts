/** Trains the models that come with the playground, from the seed of the playground, and writes an archive of each. */
import { gzipSync } from "node:zlib";
import { zipEntries, zipOf } from "../../src/data/zip.ts";
import type { Choice, DataName } from "../../web/messages.ts";
import { load, save, train } from "../../web/session.ts";
import { trainedModels, trainedName } from "../../web/trained.ts";

/** Settings of the page before a visitor changes them. */
const choice: Omit<Choice, "model"> = { path: "hermite", method: "midpoint", device: "cpu", epochs: 40 };

/** Files of a run that a prediction needs. */
const needed = ["config.json", "data.json", "summary.json", "best.safetensors"];

/** A run's archive with the needed files alone, and JSON without spaces. */
async function smallArchive(archive: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const files: Record<string, Uint8Array> = {};
  for (const { name, read } of zipEntries(archive, "run")) {
    const file = name.split("/").at(-1)!;
    if (!needed.includes(file)) continue;
    const bytes = await read();
    files[file] = file.endsWith(".json")
      ? new TextEncoder().encode(JSON.stringify(JSON.parse(new TextDecoder().decode(bytes))))
      : bytes;
  }
  return zipOf(files);
}

async function trainOn(data: DataName, model: string): Promise<Uint8Array<ArrayBuffer>> {
  await load(data);
  await train({ ...choice, model }, new AbortController().signal, () => Promise.resolve());
  return await save();
}

/** @param out Folder of the page. */
export async function writeTrained(out: string): Promise<void> {
  for (const [data, model] of trainedModels) {
    const archive = await smallArchive(await trainOn(data, model));
    await Deno.writeFile(`${out}/${trainedName(data, model)}`, gzipSync(archive));
  }
}
