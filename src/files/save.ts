/** Saves and loads tensors in a format that PyTorch, JAX and other frameworks can read. */
import { checkOptions, namesOf } from "../device/options.ts";
import { tensor } from "../tensor/creation.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Tree, treeFlatten } from "../tensor/tree.ts";
import { diskOf, writeAtomically } from "./disk.ts";
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
  /** Texts to store with the tensors, by name. */
  metadata?: Readonly<Record<string, string>>;
}

const optionNames = namesOf<SaveOptions>()("metadata?");

/**
 * Saves tensors in the safetensors format, under dotted names such as `layers.0.weight`. The parameters of a
 * model are saved as a PyTorch `state_dict`. Files are written atomically and have a checksum.
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
 * @param tensors A tensor, or nested plain objects and arrays of tensors.
 * @param path Path of the file, which is replaced if it exists. Needs the permission to write there
 * (`--allow-write`).
 * @returns The bytes of the file, if no path is given.
 * @throws {TypeError} If there is no tensor, or a metadata value is not a text.
 * @throws {RangeError} If two tensors have the same dotted name.
 * @throws {Error} If the file cannot be written. The message contains the path.
 */
export async function save(tensors: Tree, options?: SaveOptions): Promise<Uint8Array<ArrayBuffer>>;
/** Saves to a file. */
export async function save(tensors: Tree, path: string | URL, options?: SaveOptions): Promise<void>;
export async function save(
  tensors: Tree,
  path: string | URL | SaveOptions = {},
  options: SaveOptions = {},
): Promise<Uint8Array<ArrayBuffer> | void> {
  const toFile = typeof path === "string" || path instanceof URL;
  const saveOptions = toFile ? options : path;
  checkOptions("save", saveOptions, optionNames);
  const { metadata = {} } = saveOptions;
  checkMetadata(metadata);
  const bytes = await encodeSafetensors({
    tensors: await toHost(checkNames(treeFlatten(tensors))),
    metadata,
  });
  if (!toFile) return bytes;
  await writeAtomically(pathOf(path), [bytes]);
}

/**
 * Loads the tensors of a safetensors file of any writer onto the current device.
 *
 * @example
 * ```ts
 * import { load, ones, save } from "@weft/weft";
 *
 * const tensors = await load(await save({ layers: [{ weight: ones([2, 3]) }] }));
 * console.log(tensors["layers.0.weight"].shape); // [2, 3]
 * ```
 *
 * @param file Path of the file, or its bytes. A path needs the permission to read (`--allow-read`).
 * @returns The tensors by name, as {@linkcode loadParameters} expects them.
 * @throws {SafetensorsError} If the file is missing, truncated, damaged or not a safetensors file, or has a
 * data type that Weft does not support. The message contains the file and the reason.
 */
export async function load(file: string | URL | Uint8Array): Promise<Record<string, Tensor>> {
  return toTensors((await read(file)).tensors);
}

/**
 * Loads the metadata of a safetensors file.
 *
 * @param file As in {@linkcode load}.
 * @throws {SafetensorsError} As {@linkcode load}.
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
  return diskOf(path.href).pathOf(path);
}

function checkMetadata(metadata: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(metadata)) {
    if (typeof text !== "string") {
      throw new TypeError(`save: metadata ${name} is ${typeof text} ${text}, expected a text`);
    }
    if (name === checksumKey) {
      throw new TypeError(`save: the metadata key ${name} is reserved for the checksum; choose another key`);
    }
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

/** Copies tensors to the host, by name. */
export async function toHost(tensors: Readonly<Record<string, Tensor>>): Promise<Record<string, HostTensor>> {
  const read = await Promise.all(
    Object.entries(tensors).map(async ([name, x]) =>
      [name, { dtype: x.dtype, shape: x.shape, values: await x.data() }] as const
    ),
  );
  return Object.fromEntries(read);
}

/** Copies tensors to the current device, by name. */
export function toTensors(values: Readonly<Record<string, HostTensor>>): Record<string, Tensor> {
  return Object.fromEntries(
    Object.entries(values).map((
      [name, { values, shape, dtype }],
    ) => [name, tensor(values, { shape, dtype })]),
  );
}
