import assert from "node:assert/strict";
import { crc32c, encodeEvent, fileHeader } from "../../src/files/event_file.ts";

Deno.test("CRC-32C has the values of RFC 3720, appendix B.4", () => {
  const bytes = (byte: (i: number) => number) => Uint8Array.from({ length: 32 }, (_, i) => byte(i));
  assert.equal(crc32c(bytes(() => 0)), 0x8a9136aa);
  assert.equal(crc32c(bytes(() => 0xff)), 0x62a8ab43);
  assert.equal(crc32c(bytes((i) => i)), 0x46dd794e);
  assert.equal(crc32c(bytes((i) => 31 - i)), 0x113fdb5c);
});

// Bytes that RecordWriter of TensorBoard 2.21 writes for the same events.
const golden: [name: string, written: Uint8Array, hex: string][] = [
  [
    "the header of a file",
    fileHeader(1.7e9),
    "1800000000000000a37f4b220900000040fc54d9411a0d627261696e2e4576656e743a32eced8f9d",
  ],
  [
    "scalars with a step above 32 bits and a tag outside ASCII",
    encodeEvent({ wallTime: 1.7e9 + 0.5, step: 2 ** 33 + 300, scalars: { "epoch/loss": 0.1, é: -2 } }),
    "2f000000000000006d5d1d500900002040fc54d94110ac828080202a1e0a110a0a65706f63682f6c6f737315cdcccc3d" +
    "0a090a02c3a915000000c0ab1670f0",
  ],
  [
    "a start of training",
    encodeEvent({ wallTime: 1.7e9, step: 7, isStart: true }),
    "0f000000000000006d532b090900000040fc54d94110073a0208013c4f4b07",
  ],
];

for (const [name, written, hex] of golden) {
  Deno.test(`${name} has the bytes that TensorBoard writes`, () => {
    assert.equal(written.toHex(), hex);
  });
}
