/** Photographs in the format of CelebA. */
import type { Splits } from "../../../src/data/series.ts";
import { zipFile } from "../../data/zip_file.ts";

const encoderPackage = "npm:jpeg-js@0.4.4";
/** Size of CelebA's aligned photographs. */
const [columns, rows] = [178, 218];

/** A JPEG file of CelebA's size: the upper half has one color, the lower half its opposite. */
export async function photograph(color: readonly number[]): Promise<Uint8Array> {
  const { default: { encode } } = await import(encoderPackage);
  const data = Uint8Array.from({ length: rows * columns * 4 }, (_, i) => {
    const channel = color[i % 4] ?? 255;
    return i < rows * columns * 2 ? channel : 255 - channel;
  });
  return encode({ data, width: columns, height: rows }, 95).data;
}

/** The color of the photograph with a number from 0. */
export function colorOf(number: number): number[] {
  return [40 * number % 256, 90 * number % 256, 150];
}

/**
 * Writes `list_eval_partition.txt` and `img_align_celeba.zip`, with the parts in sequence as in CelebA. The
 * archive has the folder as its first entry, and a Zip64 record, because CelebA has 202,599 photographs.
 */
export async function writeFaces(folder: string, counts: Splits<number>): Promise<void> {
  const parts = [counts.train, counts.validation, counts.test].flatMap((count, part) =>
    Array<number>(count).fill(part)
  );
  const names = parts.map((_, i) => `${i + 1}`.padStart(6, "0") + ".jpg");
  const files = await Promise.all(names.map(async (name, i) => ({
    name: `img_align_celeba/${name}`,
    content: await photograph(colorOf(i)),
    method: "stored" as const,
  })));
  await Deno.mkdir(folder, { recursive: true });
  const directory = { name: "img_align_celeba/", content: "", method: "stored" as const };
  await Deno.writeFile(`${folder}/img_align_celeba.zip`, zipFile([directory, ...files], "zip64"));
  const list = names.map((name, i) => `${name} ${parts[i]}\n`).join("");
  await Deno.writeTextFile(`${folder}/list_eval_partition.txt`, list);
}
