/** Compiled loops give the same results, bit for bit, if invocations and workgroups take their work in another order. */
import assert from "node:assert/strict";
import { key, normal, scan, type Tensor, valueAndGrad } from "../../mod.ts";
import { chooseWorkgroup } from "../../src/compile/executors/wgsl/choose_workgroup.ts";
import { layOutOnGpu } from "../../src/compile/executors/wgsl/gpu_layout.ts";
import { emitWgsl, type WgslLoop } from "../../src/compile/executors/wgsl/emit_wgsl.ts";
import { adapterOf } from "../../src/compile/executors/wgsl/run_on_webgpu.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import type { WebGpuDevice } from "../../src/device/webgpu/device.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { longOnSoftware, testOnWebGpu } from "../devices.ts";
import { ordersThatDiffer, withDevices, withShortDispatches } from "../device/edited_gpu.ts";
import { orders } from "../device/reorder.ts";
import { randomBody } from "./random_body.ts";
import { runBody } from "./run_body.ts";

/** A recurrence whose loops compile fast, as a mean of its states. */
function recurrence(batch = 3) {
  const [weight, first, x] = [[16, 16], [batch, 16], [4, batch, 16]].map((shape, i) => normal(key(i), shape));
  const step = (h: Tensor, x: Tensor): [Tensor, Tensor] => {
    const next = h.matmul(weight).add(x).tanh();
    return [next, next.sum(1)];
  };
  const run = () => {
    const [last, sums] = scan(step, first, x);
    return last.square().mean().add(sums.mean());
  };
  return { run, gradient: () => valueAndGrad((_: Tensor) => run())(weight) };
}

testOnWebGpu("a loop and its gradient give the same bits in every order of work", async () => {
  await withDevices(
    {},
    async (devices) => assert.deepEqual(await ordersThatDiffer(devices, () => recurrence().gradient()), []),
  );
});

for (const workgroup of [{ samples: 2, lanes: 16 }, { samples: 4, lanes: 8 }]) {
  const { samples, lanes } = workgroup;
  testOnWebGpu(
    `a loop gives the same bits in every order of work, with ${samples} samples and ${lanes} lanes`,
    longOnSoftware,
    async () => {
      await withDevices({}, async (devices) => {
        assert.deepEqual(await ordersThatDiffer(devices, () => recurrence(9).gradient(), workgroup), []);
      });
    },
  );
}

testOnWebGpu("random loops give the same bits in every order of work", longOnSoftware, async () => {
  let loops = 0;
  await withDevices({}, async (devices) => {
    for (let seed = 0; seed < 10; seed++) {
      const results: Awaited<ReturnType<typeof runBody>>[] = [];
      for (const device of devices) {
        setCurrentDevice(device);
        let result!: ReturnType<typeof runBody>;
        withShortDispatches(device, () => {
          result = runBody(randomBody(seed), "float32", { executor: "fused" }, { onLoop: () => loops++ });
        });
        results.push(await result);
      }
      for (const result of results) assert.deepEqual(result, results[0], `body ${seed}`);
    }
  });
  assert.ok(loops >= 30, `${loops} loops ran`);
});

/** The loops of a computation as shaders, with a layout for hardware. */
function shadersOf(device: WebGpuDevice, body: () => unknown): WgslLoop[] {
  const adapter = { ...adapterOf(device), maxIterations: Infinity };
  const shaders: WgslLoop[] = [];
  observeLoops(
    (_, { program, batch }) =>
      shaders.push(
        emitWgsl(program, layOutOnGpu(program, chooseWorkgroup(program, batch, adapter), adapter)),
      ),
    () => void body(),
  );
  return shaders;
}

/** Numbers of the calls of a step that wait at a barrier. */
function waitingCalls({ code, args }: WgslLoop): number[] {
  const constant = (name: string) => Number(new RegExp(`const ${name} = (\\d+)u`).exec(code)![1]);
  const [first, end, size] = ["prologue_end", "step_end", "call_size"].map(constant);
  return Array.from({ length: end - first }, (_, i) => first + i).filter((i) => args[i * size + 1] === 1);
}

const flag = "argument(at + 1u) == 1u";

testOnWebGpu("another order of work reveals a missing barrier of a loop", async (device) => {
  const loop = shadersOf(device as WebGpuDevice, () => recurrence().run())[0];
  const calls = waitingCalls(loop);
  const call = calls[calls.length >> 1];
  let isEdited = false;
  const edit = (code: string) => {
    if (code !== loop.code) return code;
    isEdited = true;
    return code.replace(flag, `${flag} && i != ${call}u`);
  };
  await withDevices({ edit }, async (devices) => {
    assert.deepEqual(await ordersThatDiffer(devices, () => recurrence().run()), orders);
  });
  assert.ok(isEdited);
});
