import assert from "node:assert/strict";
import { grad, key, normal, parameterCount, type Tensor } from "../../../mod.ts";
import { ConvCNP, convCNPParameters } from "../../../tasks/papers/experiments/conv_cnp.ts";
import { testOnDevices } from "../../devices.ts";

const sizes = { channels: 2, side: 12, units: 3, layers: 2, shots: 20, leastDeviation: 0.1 };
const length = sizes.side ** 2;
const model = () => ConvCNP({ ...sizes, key: key(3) });

/** The predictions of the first image as in the equations, by loops: row p is for pixel p. */
async function byLoops(net: ReturnType<typeof model>, x: Tensor, given: (pixel: number) => boolean) {
  const { side, channels, units } = sizes;
  const dataOf = async (t: Tensor) => [...await t.data()] as number[];
  const { kernel, input, blocks, output } = net.parameters;
  const [values, weights] = [await dataOf(x), await dataOf(kernel)];
  const linear = async ({ weight, bias }: typeof input) => {
    const [w, b] = [await dataOf(weight), await dataOf(bias!)];
    const inputs = weight.shape[1];
    return (v: number[]) => b.map((b, o) => v.reduce((sum, v, i) => sum + w[o * inputs + i] * v, b));
  };
  const around = (size: number, pixel: number) =>
    Array.from({ length: size ** 2 }, (_, i) => {
      const [row, column] = [
        Math.floor(pixel / side) + Math.floor(i / size) - (size - 1) / 2,
        pixel % side + i % size - (size - 1) / 2,
      ];
      return row < 0 || row >= side || column < 0 || column >= side ? undefined : row * side + column;
    });
  const pixels = Array.from({ length }, (_, pixel) => pixel);
  let features = pixels.map((pixel) => {
    const sums = (of: (other: number, c: number) => number) =>
      Array.from({ length: channels }, (_, c) =>
        around(9, pixel).reduce<number>(
          (sum, other, i) =>
            other === undefined || !given(other)
              ? sum
              : sum + Math.abs(weights[i * channels + c]) * of(other, c),
          0,
        ));
    const density = sums(() => 1);
    const signal = sums((other, c) => values[other * channels + c]);
    return [...density, ...signal.map((s, c) => s / Math.max(density[c], 1e-5))];
  });
  features = features.map(await linear(input));
  for (const block of blocks) {
    const apply = await linear(block);
    const before = features;
    features = before.map((own, pixel) => {
      const read = around(5, pixel).flatMap((other) =>
        other === undefined ? Array<number>(units).fill(0) : before[other].map((v) => Math.max(0, v))
      );
      return apply(read).map((v, i) => v + own[i]);
    });
  }
  const last = await linear(output);
  return features.map((v) =>
    last(v.map((v) => Math.max(0, v))).map((v, i) =>
      i < channels ? v : Math.max(0.1, Math.log1p(Math.exp(v)))
    )
  );
}

testOnDevices("a ConvCNP predicts the next pixel as its equations, from the first pixels", async () => {
  const net = model();
  const x = normal(key(5), [1, length, 2]);
  const expected = await byLoops(net, x, (pixel) => pixel < 30);
  const found = [...await net(x, { context: 30 }).data()];
  for (let pixel = 1; pixel < length; pixel++) {
    expected[pixel].forEach((value, i) => {
      const other = found[(pixel - 1) * 4 + i];
      assert(Math.abs(value - other) < 1e-4, `pixel ${pixel}, ${i}: ${other}, expected ${value}`);
    });
  }
});

Deno.test("in training a ConvCNP reads another random set of pixels of each image, of the given size", async () => {
  const net = ConvCNP({ ...sizes, units: 24, key: key(3) });
  const x = normal(key(5), [3, length, 2]);
  const read = await grad((x: Tensor) => net(x, { forcing: 0.15, key: key(7) }).square().sum())(x).data();
  const sets = [0, 1, 2].map((image) =>
    Array.from({ length }, (_, pixel) => pixel).filter((pixel) => read[(image * length + pixel) * 2] !== 0)
  );
  assert.deepEqual(sets.map((set) => set.length), [20, 20, 20]);
  assert.notDeepEqual(sets[0], sets[1]);
});

Deno.test("the number of parameters of a ConvCNP is known from its sizes", () => {
  assert.equal(parameterCount(model().parameters), convCNPParameters(sizes));
});
