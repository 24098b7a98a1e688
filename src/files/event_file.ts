/**
 * TensorBoard's event files: records of TFRecord with messages of the protocol buffer `Event`
 * (tensorboard/compat/proto/event.proto).
 */
import { crc32By } from "../platform/crc32.ts";

/** An entry of an event file. */
export interface Event {
  /** Time in seconds since 1970. */
  readonly wallTime: number;
  /** Number of optimiser steps, an integer from 0. */
  readonly step: number;
  /** Values by tag, rounded to float32. */
  readonly scalars?: Readonly<Record<string, number>>;
  /** Whether training starts here: readers drop earlier events of this step and later steps. */
  readonly isStart?: boolean;
}

/** First record of an event file. */
export function fileHeader(wallTime: number): Uint8Array {
  return record([...double(1, wallTime), ...message(3, utf8("brain.Event:2"))]);
}

/** Record of an event. */
export function encodeEvent({ wallTime, step, scalars = {}, isStart = false }: Event): Uint8Array {
  const values = Object.entries(scalars).flatMap(([tag, value]) =>
    message(1, [...message(1, utf8(tag)), ...float(2, value)])
  );
  return record([
    ...double(1, wallTime),
    ...integer(2, step),
    ...(values.length > 0 ? message(5, values) : []),
    // SessionLog with the status START.
    ...(isStart ? message(7, integer(1, 1)) : []),
  ]);
}

/** Wire types of fields of protocol buffers. */
const wireTypes = { varint: 0, bits64: 1, bytes: 2, bits32: 5 } as const;

/** Key of a field. */
function tag(field: number, type: keyof typeof wireTypes): number {
  return field << 3 | wireTypes[type];
}

/** Groups of seven bits, the lowest first. Divides, since steps may exceed 32 bits. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push(value % 128 | 128);
  return [...bytes, value];
}

const integer = (field: number, value: number) => [tag(field, "varint"), ...varint(value)];
const message = (field: number, content: readonly number[]) => [
  tag(field, "bytes"),
  ...varint(content.length),
  ...content,
];
const utf8 = (text: string) => [...new TextEncoder().encode(text)];

function double(field: number, value: number): number[] {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value, true);
  return [tag(field, "bits64"), ...new Uint8Array(view.buffer)];
}

function float(field: number, value: number): number[] {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, value, true);
  return [tag(field, "bits32"), ...new Uint8Array(view.buffer)];
}

/** A record of TFRecord: the length, its checksum, the data, their checksum. Numbers are little-endian. */
function record(data: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(data.length + 16);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length, true); // The upper half of the length is 0.
  view.setUint32(8, mask(crc32c(bytes.subarray(0, 8))), true);
  bytes.set(data, 12);
  view.setUint32(data.length + 12, mask(crc32c(bytes.subarray(12, data.length + 12))), true);
  return bytes;
}

/** TFRecord rotates a checksum by 15 bits and adds a constant. */
function mask(crc: number): number {
  return ((crc >>> 15 | crc << 17) + 0xa282ead8) >>> 0;
}

/** CRC-32C (RFC 3720, appendix B.4), by Castagnoli's polynomial. */
export const crc32c: (bytes: Uint8Array) => number = crc32By(0x82f63b78);
