import assert from "node:assert/strict";
import {
  Adam,
  foldIn,
  grad,
  jit,
  keep,
  type Key,
  key,
  Linear,
  normal,
  odeint,
  ones,
  parameter,
  scan,
  SGD,
  splitKey,
  type Tensor,
  tensor,
  tidy,
  uniform,
  valueAndGrad,
  zeros,
} from "../../mod.ts";
import { cpuDevice } from "../../src/device/current.ts";
import type { CpuDevice } from "../../src/device/cpu/device.ts";
import { longOnSoftware, testOnCpu, testOnDevices } from "../devices.ts";
import { randomBody } from "./random_body.ts";
import { difference, optionsOf, tolerances } from "./run_body.ts";

const values = async (x: Tensor) => [...await x.data()];

testOnDevices(
  "jit traces once per shape, dtype and number, and not again for new tensor values",
  async () => {
    let runs = 0;
    const f = jit((x: Tensor, factor: number) => {
      runs++;
      return x.mul(factor).add(1);
    });
    for (let i = 0; i < 4; i++) {
      assert.deepEqual(await values(f(tensor([i, 2 * i]), 3)), [
        3 * i + 1,
        6 * i + 1,
      ]);
    }
    // From the second call on, the argument is known to be a different tensor in each call.
    assert.equal(runs, 2);
    assert.deepEqual(await values(f(tensor([1, 2]), 4)), [5, 9]);
    assert.deepEqual(await values(f(tensor([1]), 3)), [4]);
    assert.deepEqual(await values(f(tensor([1, 2], { dtype: "int32" }), 3)), [4, 7]);
    assert.equal(runs, 5);
  },
);

testOnDevices(
  "jit compares typed-array arguments by content: a changed array is traced again, an equal one is not",
  async () => {
    let runs = 0;
    const f = jit((x: Tensor, factors: readonly number[]) => {
      runs++;
      return x.mul(factors[0]).add(factors[1]);
    });
    const x = tensor([1, 2]);
    const call = (factors: Float32Array) => values(f(x, factors as unknown as number[]));
    const factors = Float32Array.of(2, 1);
    assert.deepEqual(await call(factors), [3, 5]);
    factors[0] = 3;
    assert.deepEqual(await call(factors), [4, 7]);
    assert.deepEqual(await call(Float32Array.of(2, 1)), [3, 5]);
    assert.equal(runs, 2);
  },
);

testOnDevices("jit accepts and returns trees of tensors", async () => {
  const f = jit(({ a, rest: [b] }: { a: Tensor; rest: Tensor[] }, name: string) => ({
    [name]: [a.add(b), b],
    name,
  }));
  for (let i = 0; i < 3; i++) {
    const b = tensor([i]);
    const { sum, name } = f({ a: tensor([10]), rest: [b] }, "sum") as { sum: Tensor[]; name: string };
    assert.equal(name, "sum");
    assert.deepEqual(await values(sum[0]), [10 + i]);
    assert.equal(sum[1], b);
  }
});

testOnDevices("a later call does not change the results of an earlier jit call", async () => {
  const f = jit((x: Tensor) => [x.add(1), x.mul(2).sum()]);
  const all = [1, 2, 3, 4].map((i) => f(tensor([i, i])));
  for (const [i, [a, b]] of all.entries()) {
    assert.deepEqual(await values(a), [i + 2, i + 2]);
    assert.deepEqual(await values(b), [4 * (i + 1)]);
  }
});

testOnDevices("a jitted function reads the current values of captured tensors", async () => {
  const weight = parameter(tensor([2]));
  const constant = zeros([1]); // without memory until it is written to
  const f = jit((x: Tensor) => x.mul(weight).add(constant));
  const call = async () => (await values(f(tensor([3]))))[0];
  assert.equal(await call(), 6);
  assert.equal(await call(), 6);
  weight.assign(tensor([5]));
  assert.equal(await call(), 15);
  constant.assign(tensor([1]));
  assert.equal(await call(), 16);
  constant.assign(tensor([2]));
  assert.equal(await call(), 17);
});

testOnDevices(
  "assignments inside jit, to arguments and to captured tensors, run in each call",
  async () => {
    const total = parameter(zeros([1]));
    const f = jit((state: Tensor, x: Tensor) => {
      total.assign(total.add(x));
      state.assign(state.mul(2));
    });
    const states = [parameter(ones([1])), parameter(ones([1]))];
    for (let i = 0; i < 3; i++) for (const state of states) f(state, tensor([i]));
    assert.deepEqual(await values(total), [6]);
    for (const state of states) assert.deepEqual(await values(state), [8]);
  },
);

testOnDevices(
  "assignments inside jit run in each call when arguments share memory or are views",
  async () => {
    const closedOver = tensor([1, 2]);
    const step = jit((x: Tensor, y: Tensor) => {
      x.select(0, 0).assign(y.sum());
      closedOver.assign(closedOver.mul(2));
      return y.add(closedOver);
    });
    const found: number[] = [];
    for (const shared of [[3, 4], [5, 6]].map((row) => tensor(row))) {
      for (const y of [shared.flip(0), closedOver]) {
        found.push(...await step(shared, y).data(), ...await shared.data());
      }
    }
    assert.deepEqual(found, [6, 11, 7, 4, 8, 16, 6, 4, 14, 27, 11, 6, 32, 64, 24, 6]);
  },
);

testOnDevices("a view of a captured tensor that a jitted function replaces has the new values", async () => {
  const captured = parameter(zeros([2]));
  const f = jit((x: Tensor) => {
    captured.assign(tensor([1, 2]));
    return x.add(0);
  });
  for (const x of [tensor([5, 5]), tensor([6, 6])]) assert.deepEqual(await values(f(x)), await values(x));
  captured.assign(zeros([2]));
  assert.deepEqual(await values(f(captured.flip(0))), [2, 1]);
});

testOnDevices(
  "an optimizer inside jit counts steps and reads its learning rate at each call",
  async () => {
    const train = async (jitted: boolean) => {
      const model = Linear({ inputs: 2, outputs: 1, key: key(1) });
      const optimizer = Adam(model.parameters, { learningRate: 0.1 });
      const step = (x: Tensor) =>
        optimizer.step(valueAndGrad(() => model(x).square().sum())(model.parameters)[1]);
      const run = jitted ? jit(step) : step;
      for (let i = 0; i < 6; i++) {
        optimizer.learningRate = 0.1 / (1 + i);
        run(normal(key(i), [3, 2]));
      }
      assert.equal(optimizer.state.step, 6);
      return [...await values(model.parameters.weight), ...await values(model.parameters.bias!)];
    };
    const [plain, jitted] = [await train(false), await train(true)];
    plain.forEach((value, i) =>
      assert.ok(Math.abs(value - jitted[i]) < 1e-6, `${jitted} instead of ${plain}`)
    );
  },
);

testOnDevices("random keys draw the same numbers with and without jit", async () => {
  const draw = (key: Key, x: Tensor) => {
    const [a, b] = splitKey(foldIn(key, 7));
    return [uniform(a, [3]).add(x), normal(b, [3])];
  };
  const f = jit(draw);
  for (let i = 0; i < 4; i++) {
    const [x, expected] = [zeros([3]), draw(key(i), zeros([3]))];
    for (const [j, found] of f(key(i), x).entries()) {
      assert.deepEqual(await values(found), await values(expected[j]));
    }
  }
});

testOnDevices("jit inside a gradient, a loop or another jit does not change results", async () => {
  const cube = jit((x: Tensor) => x.mul(x).mul(x));
  const inner = jit((x: Tensor) => cube(x).sum());
  for (let i = 1; i < 4; i++) {
    const x = tensor([i]);
    assert.deepEqual(await values(grad((x: Tensor) => cube(x).sum())(x)), [3 * i * i]);
    assert.deepEqual(await values(inner(x)), [i ** 3]);
    const [last] = scan((y: Tensor, row: Tensor) => [cube(y).mul(row), y], x, ones([2]));
    assert.deepEqual(await values(last), [i ** 9]);
  }
});

testOnDevices("a scope around jit calls frees their results and nothing else", async () => {
  const f = jit((x: Tensor) => x.add(1));
  const x = tensor([1]);
  for (let i = 0; i < 3; i++) tidy(() => void f(x));
  assert.deepEqual(await values(f(x)), [2]);
});

Deno.test("jit throws at once if its argument is not a function", () => {
  for (const [value, kind] of [[3, "number"], [undefined, "undefined"], [null, "null"]]) {
    assert.throws(
      () => jit(value as never),
      new RegExp(`^TypeError: jit: expected a function, got ${kind}$`),
    );
  }
});

testOnDevices("jit rejects a function that it cannot replay, and the error says how to fix it", async () => {
  const x = tensor([1, 2]);
  assert.throws(() => jit(async (x: Tensor) => await x.sum().item())(x), /the function is async/);
  let promise: Promise<unknown> | undefined;
  jit((x: Tensor) => void (promise = x.add(1).data()))(x);
  await assert.rejects(promise!, /jit: the function reads values back/);
  let leaked: Tensor | undefined;
  jit((x: Tensor) => void (leaked = x.add(1)))(x);
  await assert.rejects(async () => await leaked!.data(), /return the tensor/);
  // A failed trace leaves nothing behind.
  assert.deepEqual(await values(x.add(1)), [2, 3]);
});

testOnDevices("times that determine the number of solver steps are read in each call", async () => {
  const f = jit((t: Tensor) =>
    odeint((_t, y) => y.zerosLike().add(1), zeros([1]), t, { method: "euler", stepSize: 0.5 })
  );
  for (const end of [1, 1, 2, 3]) {
    const states = await values(f(tensor([0, end])));
    assert.ok(Math.abs(states[1] - end) < 1e-6, `${states} at ${end}`);
  }
});

testOnDevices("tensors that a jitted function stores outlive the call", async () => {
  let cache: Tensor | undefined;
  const f = jit((x: Tensor) => x.add(cache ??= keep(tensor([1, 2]).mul(3))));
  for (let i = 0; i < 4; i++) assert.deepEqual(await values(f(tensor([i, i]))), [i + 3, i + 6]);
  assert.deepEqual(await values(cache!), [3, 6]);
});

testOnDevices("a thousand jitted steps take no more memory than ten", longOnSoftware, async (device) => {
  const model = Linear({ inputs: 2, outputs: 1, key: key(1) });
  const optimizer = SGD(model.parameters, { learningRate: 0.1, momentum: 0.9 });
  const step = jit((x: Tensor) => {
    const [loss, gradients] = valueAndGrad(() => model(x).square().sum())(model.parameters);
    optimizer.step(gradients);
    return loss;
  });
  const x = [normal(key(0), [3, 2]), normal(key(1), [3, 2])];
  const run = async (steps: number) => {
    for (let i = 0; i < steps; i++) {
      tidy(() => void step(x[i % 2]));
      if (i % 256 === 0) await device.synchronize();
    }
    await device.synchronize();
    return device.usedBytes;
  };
  const before = await run(10);
  const after = await run(1000);
  // Less if the garbage collector frees tensors of earlier tests.
  assert.ok(after <= before, `${after} bytes after ${before}`);
});

testOnCpu("evicted traces release their memory", () => {
  const device = cpuDevice() as CpuDevice;
  const f = jit((x: Tensor, n: number) => x.add(n).mul(x).sum());
  const x = ones([1000]);
  const run = (from: number) => {
    for (let n = from; n < from + 40; n++) tidy(() => void f(x, n));
    return device.memory.usedBytes;
  };
  const before = run(0);
  assert.ok(Math.abs(run(100) - before) <= 4096, `${run(200)} bytes after ${before}`);
});

for (let i = 0; i < 15; i++) {
  Deno.test(`random loop ${i} gives the same results under jit and step by step`, async () => {
    const body = randomBody(6_000_000 + i);
    const { worst, where } = await difference(body, "float64", { ...optionsOf(body), jit: true });
    assert.ok(
      worst <= tolerances.float64,
      `${where} differs by ${worst}; deno task fuzz --jit --seed 6 shrinks it`,
    );
  });
}

testOnDevices("values that a function only checks are checked in each call and traced once", async () => {
  let runs = 0;
  const table = tensor([[1, 2], [3, 4], [5, 6]], { dtype: "int32" });
  const f = jit((indices: Tensor) => {
    runs++;
    return table.take(indices);
  });
  for (const i of [0, 1, 2, 0]) {
    assert.deepEqual(await values(f(tensor([i], { dtype: "int32" }))), await values(table.select(0, i)));
  }
  assert.equal(runs, 2);
  assert.throws(() => f(tensor([3], { dtype: "int32" })), /indices/);
});

Deno.test("jit rejects solver times that the function has assigned before", () => {
  const t = tensor([0, 1]);
  const f = jit((y: Tensor) => {
    t.assign(t.add(1));
    return odeint((_, y) => y, y, t, { method: "rk4" });
  });
  assert.throws(() => f(ones([1])), /inside jit/);
});

Deno.test("jit traces a function again for -0 after 0", async () => {
  const x = ones([1]);
  const f = jit((x: Tensor, sign: number) => x.mul(1 / sign));
  assert.deepEqual([...await values(f(x, 0)), ...await values(f(x, -0))], [Infinity, -Infinity]);
});

testOnDevices(
  "layers and parameters that are made inside jit have their initial values in each call",
  async () => {
    const x = ones([2, 3]);
    const layered = (x: Tensor) => Linear({ inputs: 3, outputs: 2, key: key(0) })(x);
    const own = (x: Tensor) => parameter(x.add(1)).mul(2);
    for (const f of [layered, own]) {
      const [compiled, expected] = [jit(f), await values(f(x))];
      for (let call = 0; call < 3; call++) assert.deepEqual(await values(compiled(x)), expected);
    }
  },
);

testOnDevices("each call of jit queues all steps of a loop that runs step by step", async () => {
  const weight = normal(key(0), [8, 8], { standardDeviation: 0.3 });
  const rows = [1, 2, 3].map((seed) => normal(key(seed), [5, 3, 8]));
  const step = (h: Tensor, row: Tensor): [Tensor, Tensor] => {
    const next = h.matmul(weight).add(row).tanh();
    return [next, next];
  };
  const run = (rows: Tensor) => scan(step, zeros([3, 8]), rows, { executor: "stepped" })[1];
  const compiled = jit(run);
  for (const own of rows) {
    const [found, expected] = [await values(compiled(own)), await values(run(own))];
    found.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 1e-5, `element ${i}: ${value}`));
  }
});
