import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import {
  key,
  load,
  loadMetadata,
  loadParameters,
  MLP,
  normal,
  ones,
  SafetensorsError,
  save,
  tensor,
  zeros,
} from "../../mod.ts";
import { testOnDevices } from "../devices.ts";
import { withFolder } from "../tasks/command_line.ts";

const sizes = { inputs: 3, outputs: 2, width: 4, depth: 1 };

testOnDevices(
  "a model loads the parameters that another model saved, from bytes and from a file",
  withFolder(async (folder) => {
    const x = normal(key(2), [5, 3]);
    const model = MLP({ ...sizes, key: key(0) });
    const expected = await model(x).data();
    const path = `${folder}/model.safetensors`;
    await save(model.parameters, path);
    for (const file of [await save(model.parameters), path, pathToFileURL(path)]) {
      const other = MLP({ ...sizes, key: key(1) });
      loadParameters(other.parameters, await load(file));
      assert.deepEqual(await other(x).data(), expected);
    }
  }),
);

Deno.test("tensors come back with their names, types, shapes and values", async () => {
  const trees = {
    layers: [{ weight: tensor([[1.5, NaN], [-Infinity, 0]]) }],
    time: tensor([1e300], { dtype: "float64" }),
    step: tensor(-7, { dtype: "int32" }),
    counts: tensor([2 ** 32 - 1], { dtype: "uint32" }),
    mask: tensor([true, false]),
    empty: zeros([0, 4]),
    repeated: ones([2, 2]),
  };
  const found = await load(await save(trees));
  const described = await Promise.all(
    Object.entries(found).map(async ([name, x]) => [name, x.dtype, x.shape, [...await x.data()]]),
  );
  assert.deepEqual(described, [
    ["layers.0.weight", "float32", [2, 2], [1.5, NaN, -Infinity, 0]],
    ["time", "float64", [1], [1e300]],
    ["step", "int32", [], [-7]],
    ["counts", "uint32", [1], [2 ** 32 - 1]],
    ["mask", "bool", [2], [1, 0]],
    ["empty", "float32", [0, 4], []],
    ["repeated", "float32", [2, 2], [1, 1, 1, 1]],
  ]);
});

Deno.test("text metadata is saved and loaded with the tensors", async () => {
  const bytes = await save(ones([1]), { metadata: { note: "übung", classes: "a,b" } });
  assert.deepEqual(await loadMetadata(bytes), { note: "übung", classes: "a,b" });
});

Deno.test("load accepts a subarray of a larger buffer", async () => {
  const bytes = await save({ a: tensor([1, 2]) });
  const padded = new Uint8Array(bytes.length + 7);
  padded.set(bytes, 5);
  const { a } = await load(padded.subarray(5, 5 + bytes.length));
  assert.deepEqual([...await a.data()], [1, 2]);
});

Deno.test("save rejects invalid names, metadata and paths by name", async () => {
  await assert.rejects(save({}), /save: no tensors given/);
  await assert.rejects(
    save({ "a.b": ones([1]), a: { b: ones([1]) } }),
    /save: two tensors have the name a\.b/,
  );
  await assert.rejects(save({ __metadata__: ones([1]) }), /save: no tensor may have the name __metadata__/);
  await assert.rejects(
    save(ones([1]), { metadata: { epoch: 3 as unknown as string } }),
    /save: metadata epoch is number 3, expected a text/,
  );
  await assert.rejects(save(ones([1]), { metadata: { sha256: "" } }), /sha256 is reserved for the checksum/);
  await assert.rejects(
    save(ones([1]), "no/such/folder/a.safetensors"),
    /no\/such\/folder\/a\.safetensors: cannot be/,
  );
  await assert.rejects(save(ones([1]), new URL("https://example.org/a")), /expected a path or a file: URL/);
});

Deno.test("load rejects invalid files by name", async () => {
  const bytes = await save({ a: ones([3]) });
  const damaged = bytes.slice();
  damaged[damaged.length - 1] ^= 1;
  const cases: [file: string | Uint8Array, message: RegExp][] = [
    ["no/such.safetensors", /no\/such\.safetensors: no such file/],
    [".", /^SafetensorsError: \.: a folder, not a file/],
    [damaged, /load: damaged/],
    [bytes.subarray(0, 20), /load: truncated/],
    [new Uint8Array(3), /load: 3 bytes are too few/],
  ];
  for (const [file, message] of cases) {
    await assert.rejects(load(file), (error) => {
      assert(error instanceof SafetensorsError);
      assert.match(`${error}`, message);
      return true;
    });
  }
  const other = MLP({ ...sizes, key: key(0) });
  assert.throws(() => loadParameters(other.parameters, { a: ones([3]) }), /missing .*unknown a/);
});
