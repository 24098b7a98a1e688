/**
 * The safetensors format (https://github.com/huggingface/safetensors): the length of the header in eight
 * bytes, the header in JSON with the type, shape and offsets of each tensor, then the values. All common
 * frameworks can read the format, and reading executes no code.
 *
 * Files written by this module have a SHA-256 checksum in their metadata, which detects any damage.
 */
import type { DType, TypedArray } from "../device/dtype.ts";
import { formatShape, type Shape, sizeOf } from "../device/shape.ts";
import { type ErrorCode, WeftError } from "../device/errors.ts";
import { sha256 } from "./digest.ts";
import { readRegularFile, whyUnread, writeAtomically } from "./disk.ts";
import { memoryFile } from "./memory.ts";
import { isCount, isRecord, parseJson } from "./json.ts";

/** A tensor on the host. */
export interface HostTensor {
  /** Type of the values. */
  readonly dtype: DType;
  /** Length of each axis. */
  readonly shape: Shape;
  /** Values, row-major. */
  readonly values: TypedArray;
}

/** Content of a safetensors file. */
export interface SafetensorsFile {
  /** Tensors by name. */
  readonly tensors: Record<string, HostTensor>;
  /** Texts by name. */
  readonly metadata: Record<string, string>;
}

/** A file that is damaged, or not in the safetensors format. */
export class SafetensorsError extends WeftError {
  /** `"SafetensorsError"`. */
  override name = "SafetensorsError";

  /** Makes an error about a file. The message begins with the path. */
  constructor(
    /** Path of the file. */
    readonly file: string,
    message: string,
    code: ErrorCode = "damaged-file",
  ) {
    super(code, `${file}: ${message}`);
  }
}

const formats = {
  float32: { name: "F32", array: Float32Array },
  float64: { name: "F64", array: Float64Array },
  int32: { name: "I32", array: Int32Array },
  uint32: { name: "U32", array: Uint32Array },
  bool: { name: "BOOL", array: Uint8Array },
} as const;
const dtypes = new Map(Object.entries(formats).map(([dtype, { name }]) => [name as string, dtype as DType]));

const maxHeaderBytes = 100_000_000;
/** Metadata key of the checksum. */
export const checksumKey = "sha256";
const blankChecksum = "0".repeat(64);

/**
 * Writes tensors of the host and metadata to a safetensors file, atomically and with a checksum.
 *
 * @param path Path of the file, which is replaced if it exists.
 * @throws {Error} If the file cannot be written. The message contains the path.
 */
export async function writeSafetensors(path: string, content: SafetensorsFile): Promise<void> {
  await writeAtomically(path, [await encodeSafetensors(content)]);
}

/** Encodes tensors and metadata as a safetensors file. */
export async function encodeSafetensors(content: SafetensorsFile): Promise<Uint8Array<ArrayBuffer>> {
  const entries = Object.entries(content.tensors);
  let offset = 0;
  const table = entries.map(([name, { dtype, shape, values }]) => {
    const begin = offset;
    offset += values.byteLength;
    return [name, { dtype: formats[dtype].name, shape, data_offsets: [begin, offset] }] as const;
  });
  // The checksum comes first, so that its position is unambiguous.
  const metadata = { [checksumKey]: blankChecksum, ...content.metadata };
  const json = JSON.stringify({ __metadata__: metadata, ...Object.fromEntries(table) });
  const text = new TextEncoder().encode(json);
  // Pad the header with spaces to a multiple of eight, so that the values are aligned and need no copy.
  const bytes = new Uint8Array(8 + Math.ceil(text.length / 8) * 8 + offset);
  const start = bytes.length - offset;
  new DataView(bytes.buffer).setBigUint64(0, BigInt(start - 8), true);
  bytes.set(text, 8);
  bytes.fill(0x20, 8 + text.length, start);
  let position = start;
  for (const [, { values }] of entries) {
    bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), position);
    position += values.byteLength;
  }
  const checksum = new TextEncoder().encode(await sha256(bytes));
  bytes.set(checksum, 8 + new TextEncoder().encode(json.slice(0, json.indexOf(blankChecksum))).length);
  return bytes;
}

/**
 * Reads a safetensors file of any writer. The tensors stay on the host.
 *
 * @param path Path of the file.
 * @throws {SafetensorsError} If the file is truncated, damaged or not a safetensors file, or has a data type
 * that Weft does not support. The message contains the file and the reason.
 */
export async function readSafetensors(path: string): Promise<SafetensorsFile> {
  return await decodeSafetensors(await readFile(path), path);
}

/**
 * Reads a file that this module wrote, such as a checkpoint in a run's folder. It must have a checksum.
 *
 * @throws {SafetensorsError} As {@linkcode readSafetensors} does, and if the file has no checksum.
 */
export async function readCheckedSafetensors(path: string): Promise<SafetensorsFile> {
  return await decodeSafetensors(await readFile(path), path, { requiresChecksum: true });
}

async function readFile(path: string): Promise<Uint8Array> {
  return memoryFile(path)?.read() ?? await readRegularFile(path).catch((error) => {
    throw new SafetensorsError(path, whyUnread(error), "unreadable-file");
  });
}

/**
 * Decodes a safetensors file. The tensors are views of the bytes where the bytes are aligned.
 *
 * @param file Name of the file, for messages.
 * @param options `requiresChecksum`: reject a file without a checksum; files of other writers have none.
 * @throws {SafetensorsError} As {@linkcode readSafetensors}.
 */
export async function decodeSafetensors(
  bytes: Uint8Array,
  file: string,
  { requiresChecksum = false } = {},
): Promise<SafetensorsFile> {
  const fail = (message: string): never => {
    throw new SafetensorsError(file, message);
  };
  if (bytes.length < 8) fail(`${bytes.length} bytes are too few for a safetensors file`);
  const headerBytes = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  if (headerBytes > maxHeaderBytes) {
    fail(`not a safetensors file: its first eight bytes give a header of ${headerBytes} bytes`);
  }
  if (8 + headerBytes > bytes.length) {
    fail(
      `truncated: the header takes ${headerBytes} bytes, but the file has only ${
        bytes.length - 8
      } after its length field`,
    );
  }
  const text = new TextDecoder().decode(bytes.subarray(8, 8 + headerBytes));
  const header = parseHeader(text, fail);
  const tensors = readTable(header, bytes, 8 + headerBytes, fail);
  const metadata = header.__metadata__ ?? {};
  if (!isRecord(metadata) || Object.values(metadata).some((value) => typeof value !== "string")) {
    return fail("damaged: its metadata are not strings");
  }
  const { [checksumKey]: checksum, ...rest } = metadata as Record<string, string>;
  if (checksum === undefined && requiresChecksum) fail("damaged: its checksum is missing");
  if (checksum !== undefined && checksum !== await blankedChecksum(bytes, text, checksum)) {
    fail("damaged: the content does not match its checksum");
  }
  return { tensors, metadata: rest };
}

function parseHeader(text: string, fail: (message: string) => never): Record<string, unknown> {
  const header = parseJson(text);
  if (header === undefined) fail("not a safetensors file, or damaged: its header is not JSON");
  return isRecord(header) ? header : fail("not a safetensors file: its header is not a JSON object");
}

/** An entry of the header. */
interface TensorEntry {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: Shape;
  /** Offset of the first byte in the values, and of the byte after the last one. */
  readonly begin: number;
  readonly end: number;
}

/** Reads the tensors. Checks all entries before the first tensor is made, so that overlapping entries cost no memory. */
function readTable(
  header: Record<string, unknown>,
  bytes: Uint8Array,
  start: number,
  fail: (message: string) => never,
): Record<string, HostTensor> {
  const size = bytes.length - start;
  const entries = Object.entries(header).filter(([name]) => name !== "__metadata__")
    .map(([name, entry]) => entryOf(name, entry, size, fail));
  let covered = 0;
  for (const { begin, end } of entries.toSorted((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (begin !== covered) fail("damaged: its tensors overlap or leave gaps");
    covered = end;
  }
  if (covered !== size) fail(`damaged: ${size - covered} bytes follow its last tensor`);
  // Object.fromEntries, since assignment has side effects for names such as `__proto__`.
  return Object.fromEntries(entries.map(({ name, dtype, shape, begin, end }) => {
    return [name, { dtype, shape, values: valuesOf(bytes.subarray(start + begin, start + end), dtype) }];
  }));
}

function entryOf(
  name: string,
  entry: unknown,
  size: number,
  fail: (message: string) => never,
): TensorEntry {
  const shown = shortened(name);
  const { dtype: format, shape, data_offsets: offsets } = isRecord(entry) ? entry : fail(`no entry ${shown}`);
  if (!isLengths(shape) || !isLengths(offsets) || offsets.length !== 2 || typeof format !== "string") {
    return fail(`damaged: tensor ${shown} has an invalid entry ${shortened(JSON.stringify(entry))}`);
  }
  const dtype = dtypes.get(format);
  if (!dtype) {
    const expected = [...dtypes.keys()].join(", ");
    return fail(`tensor ${shown} has type ${shortened(format)}, expected one of ${expected}`);
  }
  const [begin, end] = offsets;
  const expected = sizeOf(shape) * formats[dtype].array.BYTES_PER_ELEMENT;
  if (end - begin !== expected) {
    fail(
      `damaged: tensor ${shown} has ${end - begin} bytes, ${format} ${
        shortened(formatShape(shape))
      } takes ${expected}`,
    );
  }
  if (end > size) fail(`truncated: tensor ${shown} ends at byte ${end} of ${size}`);
  return { name, dtype, shape, begin, end };
}

/** A view of the values of a tensor, or a copy if the bytes are not aligned. */
function valuesOf(bytes: Uint8Array, dtype: DType): TypedArray {
  const { array: Values } = formats[dtype];
  const isAligned = bytes.byteOffset % Values.BYTES_PER_ELEMENT === 0;
  const { buffer, byteOffset, byteLength } = isAligned ? bytes : bytes.slice();
  return new Values(buffer as ArrayBuffer, byteOffset, byteLength / Values.BYTES_PER_ELEMENT);
}

/** A text of the header, for a message. */
function shortened(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}

function isLengths(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((length) => isCount(length));
}

/** Checksum of a file whose checksum field is set to zeros, as when the checksum was computed. */
async function blankedChecksum(
  bytes: Uint8Array,
  header: string,
  checksum: string,
): Promise<string> {
  const position = new TextEncoder().encode(header.slice(0, header.indexOf(checksum))).length;
  const blanked = bytes.slice();
  blanked.set(new TextEncoder().encode(blankChecksum).subarray(0, checksum.length), 8 + position);
  return await sha256(blanked);
}
