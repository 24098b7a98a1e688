/**
 * Faces of CelebA (Liu et al., 2015): photographs of 178 by 218 pixels, resized to a square as in the code of
 * Nzoyem et al., 2025 (`loaders.py`).
 */
import { type Splits, zipEntries } from "@weft/weft/data";
import { readBytesIfPresent } from "../files.ts";
import { type ByteImage, resizeLanczos } from "./resize.ts";

/** Package that decodes JPEG files. It is fetched the first time. */
const decoderPackage = "npm:jpeg-js@0.4.4";

/** The part of the package that is used here. */
interface Decoder {
  decode(
    bytes: Uint8Array,
    options: { useTArray: true; formatAsRGBA: false; tolerantDecoding: false },
  ): { width: number; height: number; data: Uint8Array };
}

const [photographs, partitionFile] = ["img_align_celeba", "list_eval_partition.txt"];

/** The photographs of a folder. */
export interface Faces {
  /** Names such as `000001.jpg` of each part, in the order of `list_eval_partition.txt`. */
  readonly names: Splits<readonly string[]>;
  /**
   * Reads a photograph.
   *
   * @param side Rows and columns of the result.
   * @returns Red, green and blue of each pixel.
   * @throws {Error} If the photograph is missing or is not a JPEG file.
   */
  read(name: string, side: number): Promise<ByteImage>;
}

/**
 * Opens a folder with `list_eval_partition.txt`, and `img_align_celeba.zip` or the unpacked folder
 * `img_align_celeba`. The archive (1.4 GB) is read into memory.
 *
 * @throws {Error} If a file is missing or damaged.
 */
export async function openFaces(folder: string): Promise<Faces> {
  const list = await readBytesIfPresent(`${folder}/${partitionFile}`);
  if (!list) throw missing(folder, partitionFile);
  const names = parsePartition(new TextDecoder().decode(list), `${folder}/${partitionFile}`);
  const archive = `${folder}/${photographs}.zip`;
  const zipped = await readBytesIfPresent(archive);
  const entries = zipped &&
    new Map(zipEntries(zipped, archive, Infinity).map((entry) => [entry.name, entry]));
  const { default: decoder }: { default: Decoder } = await import(decoderPackage);
  return {
    names,
    async read(name, side) {
      const path = `${photographs}/${name}`;
      const bytes = await (entries ? entries.get(path)?.read() : readBytesIfPresent(`${folder}/${path}`));
      if (!bytes) throw missing(folder, entries ? `${path} in ${photographs}.zip` : path);
      return resizeLanczos(decode(decoder, bytes, `${folder}/${path}`), side);
    },
  };
}

function missing(folder: string, file: string): Error {
  return new Error(
    `${folder}: no ${file}; expected the files of CelebA: ${partitionFile}, and ${photographs}.zip or the ` +
      `folder ${photographs} (docs/guides/data.md)`,
  );
}

/** Parts by their numbers in the list. The authors' list has a fourth part, 3, with one photograph. */
const parts = ["train", "validation", "test"] as const;

function parsePartition(text: string, path: string): Faces["names"] {
  const names = { train: [] as string[], validation: [] as string[], test: [] as string[] };
  for (const [i, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const [, name, part] = /^(\S+\.jpg)\s+([012])\s*$/.exec(line) ?? [];
    if (!name) throw new Error(`${path}: line ${i + 1} is "${line}", expected such as "000001.jpg 0"`);
    names[parts[Number(part)]].push(name);
  }
  return names;
}

function decode({ decode }: Decoder, bytes: Uint8Array, path: string): ByteImage {
  try {
    const { width, height, data } = decode(bytes, {
      ...{ useTArray: true, formatAsRGBA: false, tolerantDecoding: false },
    });
    return { pixels: data, shape: [height, width, 3] };
  } catch (error) {
    throw new Error(
      `${path}: not a JPEG file, or damaged: ${error instanceof Error ? error.message : error}`,
    );
  }
}
