/** Random keys as mapped arguments and as sequences of loops. */
import assert from "node:assert/strict";
import {
  bernoulli,
  foldIn,
  jit,
  type Key,
  key,
  normal,
  randint,
  scan,
  splitKey,
  stack,
  type Tensor,
  tensor,
  uniform,
  vmap,
  zeros,
} from "../../mod.ts";
import { testOnDevices } from "../devices.ts";

/** Draws by a key that is an argument of `vmap`. */
const draws: Readonly<Record<string, (key: Key) => Tensor>> = {
  uniform: (key) => uniform(key, [3, 2], { low: -1, high: 2 }),
  normal: (key) => normal(key, [3, 2], { mean: 3, standardDeviation: 0.1 }),
  "normal number": (key) => normal(key, []),
  randint: (key) => randint(key, [4], -5, 5),
  bernoulli: (key) => bernoulli(key, 0.3, [5]).cast("float32"),
  splitKey: (key) => normal(splitKey(key, 3)[1], [2]),
  foldIn: (key) => normal(foldIn(key, 2 ** 40 + 7), [2]),
};

testOnDevices("vmap over keys draws the numbers of each key", async () => {
  const keys = splitKey(key(3), 4);
  for (const [name, draw] of Object.entries(draws)) {
    const expected = await stack(keys.map(draw)).toArray();
    const runs: Record<string, Tensor> = {
      keys: vmap(draw)(keys),
      "keys beside tensors": vmap((_x: Tensor, key: Key) => draw(key))(zeros([4]), keys),
      "keys in an object": vmap(({ key }: { key: Key }) => draw(key))({ key: keys as never }),
      jit: jit((...keys: Key[]) => vmap(draw)(keys))(...keys),
      "keys split in jit": jit((key: Key) => vmap(draw)(splitKey(key, 4)))(key(3)),
    };
    for (const [how, run] of Object.entries(runs)) {
      assert.deepEqual(await run.toArray(), expected, `${name}, ${how}`);
    }
    const nested = vmap(vmap(draw))([keys.slice(0, 2), keys.slice(2)]);
    assert.deepEqual(await nested.flatten(0, 1).toArray(), expected, `${name}, vmap of vmap`);
  }
});

testOnDevices("vmap shares a key that is not in an array, and keys with axes of null", async () => {
  const [one, two] = splitKey(key(3));
  const shared = await stack([normal(one, [2]), normal(one, [2])]).toArray();
  const draw = (_x: Tensor, key: Key) => normal(key, [2]);
  assert.deepEqual(await vmap(draw)(zeros([2]), one).toArray(), shared);
  assert.deepEqual(await jit((key: Key) => vmap(draw)(zeros([2]), key))(one).toArray(), shared);
  const second = (_x: Tensor, keys: Key[]) => normal(keys[1], [2]);
  const found = vmap(second, { inAxes: [0, null] })(zeros([2]), [one, two]);
  assert.deepEqual(await found.toArray(), await stack([normal(two, [2]), normal(two, [2])]).toArray());
});

testOnDevices("the body of a loop draws with the keys of a sequence", async () => {
  const keys = splitKey(key(3), 5);
  const [, found] = scan(
    (y: Tensor, key: Tensor) => {
      const drawn = normal(key, [3, 2]);
      return [y.mul(0.5).add(drawn), drawn];
    },
    zeros([3, 2]),
    tensor(keys.flat(), { shape: [5, 2], dtype: "uint32" }),
  );
  const expected = stack(keys.map((key) => normal(key, [3, 2])));
  assert.ok(await found.sub(expected).abs().max().item() < 1e-6);
});
