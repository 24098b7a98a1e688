import assert from "node:assert/strict";
import {
  cdeint,
  CubicSpline,
  key,
  naturalCubicCoeffs,
  normal,
  ones,
  scan,
  splitKey,
  type Tensor,
  tensor,
  tidy,
  uniform,
  valueAndGrad,
} from "../../mod.ts";
import { openGpu } from "../../src/compile/executors/wgsl/open_gpu.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import { emitWgsl } from "../../src/compile/executors/wgsl/emit_wgsl.ts";
import { adapterOf, runOnWebGpu } from "../../src/compile/executors/wgsl/run_on_webgpu.ts";
import { chooseWorkgroup, otherWorkgroups } from "../../src/compile/executors/wgsl/choose_workgroup.ts";
import { layOutOnGpu } from "../../src/compile/executors/wgsl/gpu_layout.ts";
import { chooseDispatchSize, stepsWithin } from "../../src/compile/executors/wgsl/dispatch_size.ts";
import type { CpuDevice } from "../../src/device/cpu/device.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import type { WebGpuDevice } from "../../src/device/webgpu/device.ts";
import { longOnSoftware, testOnBoth } from "../devices.ts";
import { defaultLimits } from "../../bench/plans/machines.ts";
import { asHardware, checkLoops, limitsOf } from "./check_loops.ts";

/**
 * A gated recurrent unit, with a mask that holds the state, a scale for each step and an output at every
 * step.
 */
function gru(batch: number, hidden: number, steps: number): () => void {
  const keys = splitKey(key(3), 8);
  const parameters = {
    inputWeight: normal(keys[0], [3, 3 * hidden], { standardDeviation: 0.4 }),
    stateWeight: normal(keys[1], [hidden, 3 * hidden], { standardDeviation: 0.4 }),
    bias: normal(keys[2], [3 * hidden]),
    first: normal(keys[3], [batch, hidden]),
    scale: uniform(keys[4], [steps]),
    x: normal(keys[5], [steps, batch, 3]),
  };
  const { inputWeight, stateWeight, bias, first, scale, x } = parameters;
  const mask = uniform(keys[6], [steps, batch, 1]).less(0.8);
  const rows = { x, scale, mask };
  const cell = (h: Tensor, { x, scale, mask }: typeof rows): [Tensor, Tensor] => {
    const [a, b] = [x.matmul(inputWeight), h.matmul(stateWeight).add(bias)];
    const part = (gates: Tensor, i: number) => gates.slice(1, i * hidden, (i + 1) * hidden);
    const reset = part(a, 0).add(part(b, 0)).sigmoid();
    const update = part(a, 1).add(part(b, 1)).sigmoid().mul(scale);
    const fresh = part(a, 2).add(reset.mul(part(b, 2))).tanh();
    const next = mask.where(fresh.sub(h).mul(update).add(h), h);
    return [next, next.sum(1, { keepDims: true })];
  };
  return () =>
    void valueAndGrad(() => {
      const [h, sums] = scan(cell, first, rows);
      return h.square().sum().add(sums.mean());
    })(parameters);
}

/** A Neural CDE with a hidden layer, by the 3/8 rule. */
function neuralCde(batch: number, hidden: number, width: number, length: number): () => void {
  const keys = splitKey(key(5), 4);
  const X = CubicSpline(naturalCubicCoeffs(normal(keys[0], [batch, length, 3])));
  const parameters = {
    z0: normal(keys[1], [batch, hidden]),
    inner: normal(keys[2], [hidden, width], { standardDeviation: 0.3 }),
    outer: normal(keys[3], [width, 3 * hidden], { standardDeviation: 0.3 }),
  };
  const field = (_t: unknown, z: Tensor) =>
    z.matmul(parameters.inner).relu().matmul(parameters.outer).tanh().reshape([-1, hidden, 3]);
  return () =>
    void valueAndGrad(() =>
      cdeint(X, field, parameters.z0, X.interval, { method: "rk4", stepSize: 1 }).square().mean()
    )(parameters);
}

/** A fast weight matrix of each sample, read and written by attention. */
function fastWeight(batch: number, size: number, steps: number): () => void {
  const keys = splitKey(key(9), 3);
  const parameters = {
    memory: normal(keys[0], [batch, size, size], { standardDeviation: 0.3 }),
    x: normal(keys[1], [steps, batch, size]),
    weight: normal(keys[2], [size, size], { standardDeviation: 0.5 }),
  };
  const cell = (memory: Tensor, x: Tensor): [Tensor, Tensor] => {
    const attention = x.matmul(parameters.weight).softmax(1);
    const value = memory.matmul(attention.expandDims(2));
    const peak = value.max(1, { keepDims: true });
    const written = x.expandDims(2).sub(value).matmul(attention.expandDims(1));
    return [memory.mul(0.9).add(written.mul(0.5)), value.sub(peak).reshape([-1, size]).flip(1)];
  };
  return () =>
    void valueAndGrad(() => {
      const [memory, outputs] = scan(cell, parameters.memory, parameters.x);
      return memory.square().mean().add(outputs.square().mean());
    })(parameters);
}

/** The delta rule for the fast weight matrices of some heads: a GPU computes the heads in different workgroups. */
function heads(batch: number, count: number, size: number, steps: number): () => void {
  const keys = splitKey(key(9), 3);
  const parameters = {
    memory: normal(keys[0], [batch, count, size, size], { standardDeviation: 0.3 }),
    keys: normal(keys[1], [steps, batch, count, size, 1]),
    values: normal(keys[2], [steps, batch, count, size, 1]),
  };
  const rows = { k: parameters.keys, v: parameters.values };
  const cell = (memory: Tensor, { k, v }: typeof rows): [Tensor, Tensor] => {
    const read = memory.matmul(k);
    return [memory.add(v.sub(read).matmul(k.mT).mul(0.1)), read.max(2)];
  };
  return () =>
    void valueAndGrad(() => {
      const [memory, outputs] = scan(cell, parameters.memory, rows);
      return memory.square().mean().add(outputs.square().mean());
    })(parameters);
}

const bodies = {
  "a GRU": () => gru(3, 5, 7),
  "a GRU of one sample": () => gru(1, 4, 3),
  "a GRU of 33 samples": () => gru(33, 4, 5),
  "a GRU of one element and one step": () => gru(2, 1, 1),
  "a Neural CDE": () => neuralCde(5, 6, 18, 6),
  "fast weights": () => fastWeight(3, 6, 4),
  "fast weights of five heads": () => heads(3, 5, 6, 4),
};

for (const [name, body] of Object.entries(bodies)) {
  const options = name === "a Neural CDE" ? longOnSoftware : {};
  testOnBoth(`${name} runs with one invocation per sample`, options, async (cpu, webgpu) => {
    const device = webgpu as WebGpuDevice;
    const adapter = { ...adapterOf(device), maxIterations: 60_000 };
    await checkLoops(
      cpu as CpuDevice,
      device,
      body(),
      adapter,
      (_, layout) => assert.equal(layout.lanes, 1),
    );
  });

  testOnBoth(
    `${name} runs with invocations that share the elements of a sample`,
    options,
    async (cpu, webgpu) => {
      const device = webgpu as WebGpuDevice;
      await checkLoops(cpu as CpuDevice, device, body(), asHardware(device));
    },
  );
}

Deno.test("the functions of a loop are called through switch statements of at most 32 cases", () => {
  const step = (h: Tensor, x: Tensor): [Tensor, Tensor] => {
    const terms = Array.from({ length: 96 }, (_, i) => h.mul(1 + i / 96).tanh().sum(1, { keepDims: true }));
    return [terms.reduce((sum, term) => sum.add(term)).add(x), h];
  };
  let found = 0;
  observeLoops((_, { program }) => {
    found++;
    const adapter = { maxIterations: Infinity, limits: defaultLimits };
    const { code } = emitWgsl(program, layOutOnGpu(program, { samples: 1, lanes: 16 }, adapter));
    const functions = code.match(/^fn kernel\d+/gm)!.length;
    assert.ok(functions > 90, `${functions} functions`);
    const switches = code.split("switch ").slice(1).map((text) =>
      text.split(/case \d+u: \{ kernel/).length - 1
    );
    assert.equal(switches.reduce((sum, cases) => sum + cases), functions);
    assert.ok(switches.every((cases) => cases <= 32), `switch statements of ${switches} cases`);
  }, () => void scan(step, normal(key(1), [3, 4]), ones([2, 3, 4])));
  assert.equal(found, 1);
});

testOnBoth(
  "a loop runs with every distribution of work among invocations",
  longOnSoftware,
  async (cpu, webgpu) => {
    const device = webgpu as WebGpuDevice;
    const adapter = asHardware(device);
    for (const i of [0, 2, 3]) {
      await checkLoops(cpu as CpuDevice, device, gru(33, 4, 2), adapter, undefined, (run) => {
        const { program, batch } = run;
        const others = otherWorkgroups(program, batch, adapter);
        assert.ok(others.length > i);
        return others[i];
      });
    }
  },
);

testOnBoth(
  "a loop runs if its values do not fit into workgroup memory",
  longOnSoftware,
  async (cpu, webgpu) => {
    const device = webgpu as WebGpuDevice;
    const limits = limitsOf(device, { maxComputeWorkgroupStorageSize: 4 * 120 });
    const adapter = { ...asHardware(device), limits };
    await checkLoops(cpu as CpuDevice, device, neuralCde(5, 6, 18, 6), adapter, (_, { local, spilled }) => {
      assert.ok(local.size > 0 && local.size <= 120 && spilled.size > 0, `${local.size}, ${spilled.size}`);
    });
  },
);

testOnBoth(
  "a loop runs if it has more arrays than the adapter binds",
  longOnSoftware,
  async (cpu, webgpu) => {
    const device = webgpu as WebGpuDevice;
    const limits = limitsOf(device, { maxStorageBuffersPerShaderStage: 8 });
    const adapter = { ...asHardware(device), limits };
    await checkLoops(cpu as CpuDevice, device, neuralCde(3, 4, 6, 5), adapter, (run, layout) => {
      const { access } = emitWgsl(run.program, layout);
      assert.ok(access.replaceAll("u", "").length <= 8, access);
    });
  },
);

testOnBoth("a loop runs in several dispatches of some steps each", async (cpu, webgpu) => {
  const device = webgpu as WebGpuDevice;
  const adapter = { ...adapterOf(device), maxIterations: 9_000 };
  let maxDispatches = 0;
  await checkLoops(cpu as CpuDevice, device, neuralCde(9, 6, 12, 9), adapter, (run, layout) => {
    maxDispatches = Math.max(
      maxDispatches,
      run.steps / stepsWithin(emitWgsl(run.program, layout), adapter.maxIterations),
    );
  });
  assert.ok(maxDispatches > 1);
});

testOnBoth("a loop runs with one workgroup per submission", async (cpu, webgpu) => {
  const { implementation } = webgpu as WebGpuDevice;
  const device = await openGpu({ implementation, budget: 1 });
  setCurrentDevice(device);
  try {
    const { batches } = device.statistics;
    await checkLoops(cpu as CpuDevice, device, gru(33, 4, 5), asHardware(device));
    assert.ok(device.statistics.batches - batches > 33);
  } finally {
    device.destroy();
  }
});

testOnBoth("a step with too many iterations for one dispatch throws", (_cpu, webgpu) => {
  const device = webgpu as WebGpuDevice;
  const adapter = { ...adapterOf(device), maxIterations: 500 };
  observeLoops((_, run) => {
    const layout = layOutOnGpu(run.program, chooseWorkgroup(run.program, run.batch, adapter), adapter);
    assert.ok(stepsWithin(emitWgsl(run.program, layout), adapter.maxIterations) < 1);
    assert.throws(
      () => runOnWebGpu(device, run, adapter),
      /more loop iterations than a software adapter allows/,
    );
  }, neuralCde(9, 6, 18, 4));
});

testOnBoth(
  "a loop runs with samples and product rows in iterations",
  longOnSoftware,
  async (cpu, webgpu) => {
    const device = webgpu as WebGpuDevice;
    const limits = limitsOf(device, { maxStorageBufferBindingSize: 4 * 1500 });
    const adapter = { ...asHardware(device), limits };
    let dispatchSize: { samples: number; stepsPerProduct: number } | undefined;
    await checkLoops(cpu as CpuDevice, device, neuralCde(40, 3, 4, 7), adapter, (run, layout) => {
      if (layout.weightGradients.length > 0) dispatchSize = chooseDispatchSize(run, layout, adapter);
    });
    assert.ok(
      dispatchSize && dispatchSize.samples < 40 && dispatchSize.stepsPerProduct < 6,
      JSON.stringify(dispatchSize),
    );
  },
);

testOnBoth("a loop of 600 steps has correct gradients", async (cpu, webgpu) => {
  const device = webgpu as WebGpuDevice;
  await checkLoops(cpu as CpuDevice, device, gru(2, 3, 600), adapterOf(device));
});

testOnBoth("a loop runs with integers and floats", async (cpu, webgpu) => {
  const device = webgpu as WebGpuDevice;
  const rows = { x: tensor([0.5, 2, 1.5]), n: tensor([[1, -1], [-2, 0], [3, 1]], { dtype: "int32" }) };
  const first = normal(key(1), [2, 4]);
  const body = () =>
    void valueAndGrad(() => {
      const cell = (h: Tensor, { x, n }: typeof rows): [Tensor, Tensor] => {
        const whole = h.mul(3).cast("int32");
        const sum = whole.mul(whole.sub(1));
        const next = whole.greater(n.expandDims(1)).where(h.mul(x), h.sub(sum.cast("float32")));
        return [next, whole.sub(sum).cast("float32").mul(h)];
      };
      const [last, outputs] = scan(cell, first, rows);
      return last.sum().add(outputs.square().sum());
    })(first);
  let hasIntegers = false;
  await checkLoops(cpu as CpuDevice, device, body, asHardware(device), (_, { word }) => {
    hasIntegers ||= word === "u32";
  });
  assert.ok(hasIntegers);
});

testOnBoth("compiled loops hold no memory of the GPU, however many there are", async (_cpu, webgpu) => {
  const run = (factor: number) =>
    tidy(() => {
      const [last] = scan((y: Tensor) => [y.mul(factor), []], ones([3, 2]), ones([4]), { executor: "fused" });
      return last.sum();
    });
  const used = [1, 2, 3, 4].map((factor) => {
    const sum = run(factor);
    const bytes = webgpu.usedBytes;
    return { sum, bytes };
  });
  const perResult = used[1].bytes - used[0].bytes;
  for (const [i, { sum, bytes }] of used.entries()) {
    assert.equal(bytes - used[0].bytes, i * perResult);
    assert.equal(await sum.item(), 6 * (i + 1) ** 4);
  }
  assert.ok(perResult <= 256, `${perResult} bytes remain after a loop and its result of 4 bytes`);
});
