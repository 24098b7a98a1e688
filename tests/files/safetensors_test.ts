import assert from "node:assert/strict";
import { withFolder } from "../tasks/command_line.ts";
import {
  decodeSafetensors,
  encodeSafetensors,
  readCheckedSafetensors,
  readSafetensors,
  SafetensorsError,
  writeSafetensors,
} from "../../src/files/safetensors.ts";

const content = {
  tensors: {
    "layers.0.weight": { dtype: "float32", shape: [2, 3], values: Float32Array.of(1, -2, NaN, 1e-45, 0, 5) },
    "layers.0.bias": { dtype: "float64", shape: [1], values: Float64Array.of(Math.PI) },
    step: { dtype: "int32", shape: [], values: Int32Array.of(-7) },
    counter: { dtype: "uint32", shape: [2], values: Uint32Array.of(2 ** 32 - 1, 3) },
    mask: { dtype: "bool", shape: [3], values: Uint8Array.of(1, 0, 1) },
    empty: { dtype: "float32", shape: [0, 4], values: new Float32Array(0) },
  },
  metadata: { note: "übung" },
} as const;

const withFile = (body: (path: string) => Promise<void>) =>
  withFolder(async (folder) => {
    const path = `${folder}/x.safetensors`;
    await writeSafetensors(path, content);
    await body(path);
  });

/** A file as other writers produce it. */
function foreign(header: unknown, data = new Uint8Array(0)): Uint8Array {
  const text = new TextEncoder().encode(typeof header === "string" ? header : JSON.stringify(header));
  const bytes = new Uint8Array(8 + text.length + data.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  bytes.set(data, 8 + text.length);
  return bytes;
}

Deno.test(
  "written safetensors are read back unchanged",
  withFile(async (path) => assert.deepEqual(await readSafetensors(path), content)),
);

Deno.test("values of written safetensors are aligned to eight bytes, so they are read without a copy", async () => {
  for (const name of ["a", "ab", "abc"]) {
    const tensors = { [name]: { dtype: "float64", shape: [1], values: Float64Array.of(2) } } as const;
    const bytes = await encodeSafetensors({ tensors, metadata: {} });
    assert.equal(new DataView(bytes.buffer).getBigUint64(0, true) % 8n, 0n);
    assert.equal((await decodeSafetensors(bytes, name)).tensors[name].values.buffer, bytes.buffer);
  }
});

Deno.test(
  "safetensors of other writers are read",
  withFile(async (path) => {
    const header = { a: { dtype: "F32", shape: [1], data_offsets: [0, 4] } };
    await Deno.writeFile(path, foreign(header, new Uint8Array(Float32Array.of(2).buffer)));
    const { tensors, metadata } = await readSafetensors(path);
    assert.deepEqual(tensors.a.values, Float32Array.of(2));
    assert.deepEqual(metadata, {});
  }),
);

Deno.test(
  "a tensor may have any name",
  withFile(async (path) => {
    const header = '{"__proto__":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}';
    await Deno.writeFile(path, foreign(header, new Uint8Array(4)));
    assert.deepEqual(Object.keys((await readSafetensors(path)).tensors), ["__proto__"]);
  }),
);

Deno.test("the error of a missing file names the file", () =>
  assert.rejects(() => readSafetensors("no/such.safetensors"), /no\/such\.safetensors: no such file/));

Deno.test(
  "a file truncated at any length is rejected by name",
  withFile(async (path) => {
    const bytes = await Deno.readFile(path);
    for (let length = 0; length < bytes.length; length += 5) {
      await Deno.writeFile(path, bytes.subarray(0, length));
      await assert.rejects(() => readSafetensors(path), (error) => {
        assert(error instanceof SafetensorsError, `${error}`);
        return error.message.startsWith(path);
      });
    }
  }),
);

Deno.test(
  "a flipped bit at any position is detected",
  withFile(async (path) => {
    const bytes = await Deno.readFile(path);
    // Without its name the checksum is ignored, as in a file of another writer.
    const name = new TextDecoder().decode(bytes).indexOf("sha256");
    for (let position = 0; position < bytes.length; position++) {
      if (position >= name && position < name + 6) continue;
      const damaged = bytes.slice();
      damaged[position] ^= 1 << position % 8;
      await Deno.writeFile(path, damaged);
      await assert.rejects(() => readSafetensors(path), SafetensorsError, `byte ${position}`);
    }
  }),
);

Deno.test(
  "a file that requires a checksum is rejected if the checksum's name is damaged",
  withFile(async (path) => {
    assert.deepEqual(Object.keys((await readCheckedSafetensors(path)).metadata), ["note"]);
    const bytes = await Deno.readFile(path);
    const name = new TextDecoder().decode(bytes).indexOf("sha256");
    for (let position = name; position < name + 6; position++) {
      const damaged = bytes.slice();
      damaged[position] ^= 1;
      damaged[bytes.length - 1] ^= 1;
      await Deno.writeFile(path, damaged);
      await assert.rejects(
        () => readCheckedSafetensors(path),
        /checksum is missing|damaged/,
        `byte ${position}`,
      );
    }
  }),
);

const rejected: [name: string, file: Uint8Array, message: RegExp][] = [
  ["text", new TextEncoder().encode("certainly not a safetensors file"), /not a safetensors file/],
  ["a header that is not JSON", foreign("{nonsense"), /header is not JSON/],
  ["a header that is a list", foreign("[]"), /not a JSON object/],
  [
    "an unknown type",
    foreign({ a: { dtype: "BF16", shape: [1], data_offsets: [0, 2] } }, new Uint8Array(2)),
    /tensor a has type BF16, expected one of F32, F64, I32, U32, BOOL/,
  ],
  [
    "a tensor of the wrong size",
    foreign({ a: { dtype: "F32", shape: [2], data_offsets: [0, 4] } }, new Uint8Array(4)),
    /tensor a has 4 bytes, F32 \(2,\) takes 8/,
  ],
  [
    "a gap",
    foreign({ a: { dtype: "F32", shape: [1], data_offsets: [4, 8] } }, new Uint8Array(8)),
    /overlap or leave gaps/,
  ],
  ["bytes too many", foreign({}, new Uint8Array(4)), /4 bytes follow its last tensor/],
];

for (const [name, file, message] of rejected) {
  Deno.test(
    `a safetensors file with ${name} is rejected`,
    withFile(async (path) => {
      await Deno.writeFile(path, file);
      await assert.rejects(() => readSafetensors(path), message);
    }),
  );
}

Deno.test("tensors that overlap are rejected before any of them is made", async () => {
  const size = 2 ** 24;
  const entry = { dtype: "BOOL", shape: [size], data_offsets: [0, size] };
  const header = Object.fromEntries(Array.from({ length: 4000 }, (_, i) => [`${i}`, entry]));
  // The copies of 4,000 tensors would need 64 GiB.
  await assert.rejects(
    decodeSafetensors(foreign(header, new Uint8Array(size)), "x.safetensors"),
    /x\.safetensors: damaged: its tensors overlap or leave gaps/,
  );
});

Deno.test("tensors are views of the bytes if the bytes are aligned, and copies otherwise", async () => {
  const header = { a: { dtype: "F32", shape: [2], data_offsets: [0, 8] } };
  const padded = (blanks: number) =>
    foreign(JSON.stringify(header) + " ".repeat(blanks), new Uint8Array(Float32Array.of(1, 2).buffer));
  const areViews = await Promise.all([0, 1, 2, 3].map(async (blanks) => {
    const bytes = padded(blanks);
    const { tensors: { a } } = await decodeSafetensors(bytes, "x.safetensors");
    assert.deepEqual([...a.values], [1, 2]);
    return a.values.buffer === bytes.buffer;
  }));
  assert.equal(areViews.filter(Boolean).length, 1);
});
