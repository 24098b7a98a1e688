/** Tensors in files that PyTorch, JAX and every other framework reads. */
import { checkOptions, type OptionNames } from "../device/options.ts";
import { fileURLToPath } from "node:url";
import { tensor } from "../tensor/creation.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { flatten, type Tree } from "../tensor/tree.ts";
import { writeAtomically } from "./disk.ts";
import {
  checksumKey,
  decodeSafetensors,
  encodeSafetensors,
  type HostTensor,
  readSafetensors,
  type SafetensorsFile,
} from "./safetensors.ts";

/** Options of {@linkcode save}. */
export interface SaveOptions {
  /** Texts that travel with the tensors, by name. */
  metadata?: Readonly<Record<string, string>>;
}

const optionNames: OptionNames<SaveOptions> = { metadata: "optional" };

/**
 * Saves tensors in the safetensors format, under dotted names such as `layers.0.weight`: the parameters of a model, as a
 * PyTorch `state_dict`. A file appears complete or not at all, and carries a checksum.
 *
 * @example
 * ```ts
 * import { key, Linear, load, loadParameters, save } from "@weft/weft";
 *
 * const model = Linear({ inputs: 3, outputs: 2, key: key(0) });
 * const bytes = await save(model.parameters, { metadata: { task: "walks" } });
 *
 * const other = Linear({ inputs: 3, outputs: 2, key: key(1) });
 * loadParameters(other.parameters, await load(bytes)); // now the same as model
 * ```
 *
 * @param tensors One, or plain objects and arrays of them.
 * @param path Where to; it needs the permission to write there (`--allow-write`), and replaces what is there.
 * @returns The bytes of the file, where no path is given.
 * @throws {TypeError} If there is no tensor, or a text of the metadata is none.
 * @throws {RangeError} If two tensors have one dotted name.
 * @throws {Error} With the path, if it cannot be written.
 */
export async function save(tensors: Tree, options?: SaveOptions): Promise<Uint8Array<ArrayBuffer>>;
/** The same to a file. */
export async function save(tensors: Tree, path: string | URL, options?: SaveOptions): Promise<void>;
export async function save(
  tensors: Tree,
  path: string | URL | SaveOptions = {},
  options: SaveOptions = {},
): Promise<Uint8Array<ArrayBuffer> | void> {
  const toFile = typeof path === "string" || path instanceof URL;
  const given = toFile ? options : path;
  checkOptions("save", given, optionNames);
  const { metadata = {} } = given;
  checkMetadata(metadata);
  const bytes = await encodeSafetensors({ tensors: await toHost(checkNames(flatten(tensors))), metadata });
  if (!toFile) return bytes;
  await writeAtomically(pathOf(path), [bytes]);
}

/**
 * Loads the tensors of a safetensors file, from {@linkcode save} or another writer, onto the current device.
 *
 * @example
 * ```ts
 * import { load, ones, save } from "@weft/weft";
 *
 * const tensors = await load(await save({ layers: [{ weight: ones([2, 3]) }] }));
 * console.log(tensors["layers.0.weight"].shape); // [2, 3]
 * ```
 *
 * @param file Its path, which needs the permission to read there (`--allow-read`), or its bytes.
 * @returns The tensors by name: what {@linkcode loadParameters} takes.
 * @throws {SafetensorsError} With the file and what is wrong, if it is missing, truncated, damaged or another kind of file,
 * or holds a type that tensors here cannot have.
 */
export async function load(file: string | URL | Uint8Array): Promise<Record<string, Tensor>> {
  return toTensors((await read(file)).tensors);
}

/**
 * The texts that were saved with tensors.
 *
 * @param file As in {@linkcode load}.
 * @throws {SafetensorsError} As {@linkcode load} does.
 */
export async function loadMetadata(
  file: string | URL | Uint8Array,
): Promise<Record<string, string>> {
  return (await read(file)).metadata;
}

async function read(file: string | URL | Uint8Array): Promise<SafetensorsFile> {
  return file instanceof Uint8Array
    ? await decodeSafetensors(file, "load")
    : await readSafetensors(pathOf(file));
}

function pathOf(path: string | URL): string {
  if (!(path instanceof URL)) return path;
  if (path.protocol !== "file:") throw new TypeError(`${path}: expected a path or a file: URL`);
  return fileURLToPath(path);
}

function checkMetadata(metadata: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(metadata)) {
    if (typeof text !== "string") {
      throw new TypeError(`save: metadata ${name} is ${typeof text} ${text}, expected a text`);
    }
    if (name === checksumKey) throw new TypeError(`save: the name ${name} in the metadata is the checksum's`);
  }
}

function checkNames(named: readonly [name: string, x: Tensor][]): Record<string, Tensor> {
  if (named.length === 0) throw new TypeError("save: no tensors given; pass model.parameters");
  const seen = new Set<string>();
  for (const [name] of named) {
    if (seen.has(name)) throw new RangeError(`save: two tensors have the name ${name}`);
    if (name === "__metadata__") throw new RangeError(`save: no tensor may have the name ${name}`);
    seen.add(name);
  }
  return Object.fromEntries(named);
}

/** The values of tensors, by name. */
export async function toHost(tensors: Readonly<Record<string, Tensor>>): Promise<Record<string, HostTensor>> {
  const read = await Promise.all(
    Object.entries(tensors).map(async ([name, x]) =>
      [name, { dtype: x.dtype, shape: x.shape, values: await x.data() }] as const
    ),
  );
  return Object.fromEntries(read);
}

/** Tensors on the current device, by name. */
export function toTensors(values: Readonly<Record<string, HostTensor>>): Record<string, Tensor> {
  return Object.fromEntries(
    Object.entries(values).map((
      [name, { values, shape, dtype }],
    ) => [name, tensor(values, { shape, dtype })]),
  );
}
