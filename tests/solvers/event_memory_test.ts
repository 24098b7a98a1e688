/** Solves with events whose steps are taken in chunks: memory, and gradients inside transformations. */
import assert from "node:assert/strict";
import {
  grad,
  jit,
  jvp,
  odeintEvent,
  type SolveStatistics,
  stack,
  type Tensor,
  tensor,
  vmap,
} from "../../mod.ts";
import { testLong } from "../devices.ts";

/** The memory of a solve of {@link file://./event_memory.ts}. */
async function memoryOf(events: number, kind: string) {
  const program = new URL("event_memory.ts", import.meta.url).href;
  const flags = ["--allow-all", "--no-lock", "--quiet", "--v8-flags=--expose-gc"];
  const args = ["run", ...flags, program, `${events}`, kind];
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout)) as {
    steps: number;
    objects: number;
    arrays: number;
    tensors: number;
  };
}

for (const kind of ["value", "gradient"]) {
  testLong(
    `the ${kind} of a million steps with checkpoints needs at most a third more memory than that of 30 000, besides their times`,
    async () => {
      const [few, many] = [await memoryOf(140, kind), await memoryOf(4700, kind)];
      assert.ok(few.steps > 3e4 && many.steps > 1e6, `${few.steps} and ${many.steps} steps`);
      const ratio = (many.objects + many.tensors) / (few.objects + few.tensors);
      assert.ok(ratio < 4 / 3, `${ratio}: ${JSON.stringify(few)}, ${JSON.stringify(many)}`);
      // A step has 13 bytes, in arrays that double.
      const perStep = (many.arrays - few.arrays) / (many.steps - few.steps);
      assert.ok(perStep < 32, `${perStep} bytes a step`);
    },
  );
}

const dtype = "float64";
const rotation = tensor([[0, 1], [-1, 0]], { dtype });
const start = tensor([[1, 0], [0.5, 0.7]], { dtype });
const examples = stack([start, start.mul(2)]);
const end = tensor(3, { dtype });

for (const norm of ["batch", "sample"] as const) {
  const solve = (adjoint: "direct" | "checkpoint", statistics?: SolveStatistics) => {
    const number = (_t: Tensor, y: Tensor) => norm === "sample" ? y.select(1, 0) : y.select(1, 0).sum();
    return (y0: Tensor, w: Tensor, t1: Tensor) => {
      const { t, y, events } = odeintEvent((_t, y) => y.matmul(w), y0, 0, number, {
        direction: "down",
        maxEvents: 4,
        restart: (_t, y) => y.mul(1.01),
        norm,
        t1,
        adjoint,
        statistics,
        method: "bosh3",
        rtol: 1e-12,
        atol: 1e-12,
        maxSteps: 1e5,
      });
      const isThere = events.which.greaterEqual(0).reshape([4, -1, 1]);
      const time = events.t.reshape([4, -1, 1]);
      return isThere.where(events.y.mul(time).sin().add(time), 0).sum().add(y.sum()).add(t.sum());
    };
  };
  type Solve = ReturnType<typeof solve>;
  const ofField = (f: Solve) => (w: Tensor) => f(start, w, end);
  const derivatives: Record<string, (f: Solve) => Tensor> = {
    "no transformation": (f) => f(start, rotation, end),
    "grad with respect to the state": (f) => grad((y: Tensor) => f(y, rotation, end))(start),
    "grad with respect to the field": (f) => grad(ofField(f))(rotation),
    "grad with respect to the end": (f) => grad((t1: Tensor) => f(start, rotation, t1))(end),
    "jvp": (f) => jvp(ofField(f))([rotation], [rotation.square()])[1],
    "grad of jvp": (f) => grad((w: Tensor) => jvp(ofField(f))([w], [rotation.square()])[1])(rotation),
    "vmap of grad": (f) => vmap((y: Tensor) => grad((w: Tensor) => f(y, w, end))(rotation))(examples),
    "grad of vmap": (f) => grad((w: Tensor) => vmap((y: Tensor) => f(y, w, end))(examples).sum())(rotation),
    "jit of grad": (f) => jit(grad(ofField(f)))(rotation),
  };
  const test = norm === "sample" ? Deno.test : testLong;
  test(`with checkpoints, many steps have the gradients of the direct adjoint, norm ${norm}`, async (t) => {
    const statistics = {} as SolveStatistics;
    solve("checkpoint", statistics)(start, rotation, end);
    assert.ok(statistics.steps! > 5000, `${statistics.steps} steps`);
    for (const [name, derivative] of Object.entries(derivatives)) {
      await t.step(name, async () => {
        const [direct, again] = [
          await derivative(solve("direct")).data(),
          await derivative(solve("checkpoint")).data(),
        ];
        assert.ok(direct.some((x) => Math.abs(x) > 0.1));
        direct.forEach((x, i) => assert.ok(Math.abs(x - again[i]) < 1e-11, `${again}, expected ${direct}`));
      });
    }
  });
}
