import assert from "node:assert/strict";
import {
  checkGradients,
  GRU,
  key,
  LSTM,
  normal,
  ShapeError,
  type Tensor,
  valueAndGrad,
  zeros,
} from "../../mod.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { testOnBoth, testOnCpu, testOnDevices } from "../devices.ts";

type Rows = number[][];

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));

/** Runs one sequence through plain loops with the layers' parameters. */
async function byHand(kind: "gru" | "lstm", parameters: Record<string, Tensor>, x: Rows): Promise<Rows> {
  const [wx, wh] = [await parameters.weight_ih.toArray(), await parameters.weight_hh.toArray()] as Rows[];
  const [bx, bh] = [await parameters.bias_ih.data(), await parameters.bias_hh.data()];
  const hidden = wh[0].length;
  const product = (w: Rows, b: ArrayLike<number>, v: number[]) =>
    w.map((row, i) => row.reduce((sum, weight, j) => sum + weight * v[j], b[i]));
  let [h, c] = [new Array(hidden).fill(0), new Array(hidden).fill(0)];
  return x.map((row) => {
    const [p, q] = [product(wx, bx, row), product(wh, bh, h)];
    const gate = (n: number, i: number) => sigmoid(p[n * hidden + i] + q[n * hidden + i]);
    if (kind === "gru") {
      h = h.map((old, i) => {
        const candidate = Math.tanh(p[2 * hidden + i] + gate(0, i) * q[2 * hidden + i]);
        return (1 - gate(1, i)) * candidate + gate(1, i) * old;
      });
    } else {
      c = c.map((old, i) => gate(1, i) * old + gate(0, i) * Math.tanh(p[2 * hidden + i] + q[2 * hidden + i]));
      h = c.map((kept, i) => gate(3, i) * Math.tanh(kept));
    }
    return h;
  });
}

const layers = { gru: GRU, lstm: LSTM };

for (const kind of ["gru", "lstm"] as const) {
  const make = (dtype: "float32" | "float64") => layers[kind]({ inputs: 3, hidden: 5, key: key(1), dtype });

  for (const [dtype, tolerance] of [["float64", 1e-12], ["float32", 1e-5]] as const) {
    const body = async () => {
      const layer = make(dtype);
      const x = normal(key(2), [2, 7, 3], { dtype });
      const found = await layer(x).toArray() as Rows[];
      for (const [i, rows] of (await x.toArray() as Rows[]).entries()) {
        const expected = await byHand(kind, layer.parameters, rows);
        expected.flat().forEach((value, j) => {
          const error = Math.abs(found[i].flat()[j] - value);
          assert.ok(error < tolerance, `sample ${i}, element ${j}: ${found[i].flat()[j]}, expected ${value}`);
        });
      }
    };
    (dtype === "float64" ? testOnCpu : testOnDevices)(
      `the states of a ${kind} agree with its equations in ${dtype}`,
      body,
    );
  }

  testOnCpu(`the gradients of a ${kind} agree with central differences`, async () => {
    const layer = make("float64");
    const x = normal(key(3), [2, 4, 3], { dtype: "float64" });
    await checkGradients((x: Tensor) => layer(x), [x]);
    await checkGradients((_) => layer(x), [layer.parameters], { elements: 8 });
  });

  testOnBoth(`the gradients of a ${kind} agree between devices`, async (cpu, webgpu) => {
    const layer = make("float32");
    const x = normal(key(4), [3, 6, 3]);
    const loss = () => layer(x).square().sum();
    const [, onGpu] = valueAndGrad(loss)(layer.parameters);
    assert.equal(x.device, webgpu);
    setCurrentDevice(cpu);
    const [sameLayer, sameX] = [make("float32"), normal(key(4), [3, 6, 3])];
    const [, onCpu] = valueAndGrad(() => sameLayer(sameX).square().sum())(sameLayer.parameters);
    for (const name of Object.keys(onCpu) as (keyof typeof onCpu)[]) {
      const expected = await onCpu[name].data();
      (await onGpu[name].data()).forEach((value, i) => {
        assert.ok(
          Math.abs(value - expected[i]) < 1e-4,
          `${name}, element ${i}: ${value}, expected ${expected[i]}`,
        );
      });
    }
  });

  testOnCpu(`a ${kind} rejects inputs with the wrong features or without a batch axis`, () => {
    assert.throws(() => make("float32")(normal(key(0), [2, 4, 2])), ShapeError);
    assert.throws(() => make("float32")(normal(key(0), [4, 3])), ShapeError);
  });
}

for (const make of [GRU, LSTM]) {
  Deno.test(`${make.name} rejects sequences of length zero`, () => {
    const layer = make({ inputs: 2, hidden: 3, key: key(0) });
    assert.throws(
      () => layer(zeros([4, 0, 2])),
      /x of shape \(4, 0, 2\), expected .* a length of at least 1/,
    );
  });
}
