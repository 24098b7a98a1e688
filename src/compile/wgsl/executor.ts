/** Runs programs on a GPU: dispatches over ranges of samples and of steps. */
import type { Buffer, BufferView } from "../../device/device.ts";
import { add, identity } from "../../device/scalar.ts";
import { keepBuffer } from "../../device/scope.ts";
import { sizeOf } from "../../device/shape.ts";
import { allocateView, copy, uploadView } from "../../device/view.ts";
import { memoryOf, type WebGpuDevice } from "../../device/webgpu/device.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { costOf } from "../cost.ts";
import type { Run, RunResult } from "../executor.ts";
import { Uncompilable } from "../uncompilable.ts";
import { emitWgsl, groupsOf, type WgslLoop } from "./emitter.ts";
import type { Turns } from "./function_text.ts";
import { chooseSharing, type Group, type Plan, planFor } from "./plan.ts";

interface Compiled extends WgslLoop {
  readonly key: string;
  readonly plan: Plan;
  /** The kernels' arguments on the device. */
  readonly list: BufferView;
}

const compiled = new WeakMap<WebGpuDevice, Map<string, Compiled>>();
let count = 0;

/** Seconds that a dispatch should take at most, by the estimates below. */
const dispatchSeconds = 0.2;

/** Operations a second that a processor can be relied on for. */
const softwareRate = 5e8;

/** The same of one invocation on hardware, and workgroups that run at the same time on the smallest. */
const invocationRate = 2e7;
const concurrentWorkgroups = 32;

/** llvmpipe leaves all loops of a shader when an invocation has taken 65,535 turns, without a word. */
const softwareTurns = 60_000;

/** Terms of a matrix product are turns of a loop, too. */
const softwareTerms = 16_384;

/** Bytes that the log may take, and slots that do not fit into workgroup memory. */
const temporaryBytes = { software: 2 ** 24, hardware: 2 ** 28 };

function compile(device: WebGpuDevice, { program, batch }: Run): Compiled {
  let programs = compiled.get(device);
  if (!programs) compiled.set(device, programs = new Map());
  const adapter = { software: device.info.software, limits: device.limits };
  const sharing = chooseSharing(program, batch, adapter);
  const key = `${sharing.samples} ${sharing.lanes} ${JSON.stringify(program)}`;
  let result = programs.get(key);
  if (!result) {
    const emit = (wholeSteps: boolean) => {
      const plan = planFor(program, sharing, adapter, wholeSteps);
      return { ...emitWgsl(program, plan), plan };
    };
    let loop = emit(true);
    if (stepsWithin(loop, mostTurns(device)) < 1) loop = emit(false);
    if (kernelsOf(loop).some(({ active }) => active > turnsForKernels(loop, mostTurns(device)))) {
      throw new Uncompilable("an operation is too large for a software adapter");
    }
    const list = uploadView(device, loop.args, [loop.args.length], "uint32");
    keepBuffer(list.source);
    programs.set(key, result = { ...loop, list, key: `loop ${count++}` });
  }
  return result;
}

function mostTurns(device: WebGpuDevice): number {
  return device.info.software ? softwareTurns : Infinity;
}

/** Steps that a dispatch can run without taking more than so many turns. */
function stepsWithin({ sections: { before, step, after } }: WgslLoop, mostTurns: number): number {
  return Math.floor((mostTurns - before.turns.active - after.turns.active - 1) / (1 + step.turns.active));
}

function kernelsOf({ sections: { before, step, after } }: WgslLoop): Turns[] {
  return [before, step, after].flatMap(({ kernels }) => kernels);
}

/** Turns that are left for the kernels that a dispatch runs when it idles through all others. */
function turnsForKernels({ sections: { before, step, after } }: WgslLoop, mostTurns: number): number {
  return mostTurns - [before, step, after].reduce((sum, { turns }) => sum + turns.idle, 0);
}

/** A dispatch's part of the kernels and the steps. */
interface Part {
  readonly firstKernel: number;
  readonly lastKernel: number;
  readonly step: number;
  readonly count: number;
}

/** The dispatches for some of the steps, each as long as it may be. */
function* partsOf(
  loop: Compiled,
  { step, end, steps }: { step: number; end: number; steps: number },
  mostTurns: number,
  mostSteps: number,
): Generator<Part> {
  const kernels = kernelsOf(loop);
  if (loop.plan.wholeSteps) {
    const atOnce = Math.max(1, Math.min(mostSteps, stepsWithin(loop, mostTurns)));
    for (let first = step; first < end; first += atOnce) {
      const count = Math.min(atOnce, end - first);
      yield { firstKernel: 0, lastKernel: kernels.length, step: first, count };
    }
    return;
  }
  const { before, step: body } = loop.sections;
  const [start, stop] = [before.kernels.length, before.kernels.length + body.kernels.length];
  const free = turnsForKernels(loop, mostTurns);
  const rangesOf = function* (first: number, last: number, step: number): Generator<Part> {
    for (let i = first, begin = first, turns = 0; i < last; i++) {
      turns += kernels[i].active;
      const isFull = i + 1 === last || turns + kernels[i + 1].active > free;
      if (!isFull) continue;
      yield { firstKernel: begin, lastKernel: i + 1, step, count: 1 };
      [begin, turns] = [i + 1, 0];
    }
  };
  if (step === 0) yield* rangesOf(0, start, 0);
  for (let current = step; current < end; current++) yield* rangesOf(start, stop, current);
  if (end === steps) yield* rangesOf(stop, kernels.length, end - 1);
}

/** Runs a program on a GPU. Nothing is read back. */
export function runOnWebGpu(device: WebGpuDevice, run: Run): RunResult {
  const { program, batch, steps, inputs } = run;
  const loop = compile(device, run);
  const { plan } = loop;
  const { samples, carry, fixed, rows, outputs, log, shared, spilled } = plan;
  const bound = new Map<string, BufferView>([["args", loop.list]]);
  const temporaries: Buffer[] = [];
  const temporary = (view: BufferView) => {
    temporaries.push(view.source);
    return view;
  };

  // What is given and what comes out.
  const states = inputs.filter((_, i) => program.inputs[i].role === "state");
  const carried = allocateGroup(device, carry, batch, program.sums.length > 0);
  states.forEach((state, i) => device.copy(state, carried[i].source, carried[i].offset));
  const produced = new Map(
    outputs.map((group) => [group, allocateGroup(device, group, steps * batch, false)]),
  );
  for (const views of [carried, ...produced.values()]) {
    const group = views === carried ? carry : [...produced].find(([, own]) => own === views)![0];
    if (views.length > 0) bound.set(group.name, { ...views[0], offset: 0 });
  }
  for (const group of [fixed, ...rows]) {
    const members = group.members.map((_, member) =>
      inputs[plan.inputAt.findIndex((place) => place?.group === group && place.member === member)]
    );
    if (members.length === 1) bound.set(group.name, members[0]);
    else if (members.length > 1) bound.set(group.name, temporary(packed(device, members)));
  }
  if (shared.constants.size > 0) bound.set("constants", temporary(packConstants(device, run, plan)));
  if (shared.rows.size > 0) bound.set("shared_rows", temporary(packRows(device, run, plan)));

  // How much of it at once.
  const software = device.info.software;
  const { operations } = costOf(program);
  const workgroups = Math.ceil(batch / samples);
  const rate = software
    ? softwareRate
    : invocationRate * samples * plan.lanes * Math.min(workgroups, concurrentWorkgroups);
  const affordable = Math.max(1, dispatchSeconds * rate / Math.max(1, operations));
  const memory = Math.min(
    temporaryBytes[software ? "software" : "hardware"],
    device.limits.maxStorageBufferBindingSize,
  ) / 4;
  const logSize = log.members.reduce((sum, { size }) => sum + size, 0);
  const inner = Math.max(0, ...plan.totals.map(({ inner }) => inner));
  const groups = Math.max(
    1,
    Math.floor(Math.min(
      workgroups,
      device.limits.maxComputeWorkgroupsPerDimension,
      memory / samples / Math.max(spilled.size, logSize),
      Math.max(1, affordable / samples),
    )),
  );
  const atOnce = Math.min(batch, groups * samples);
  const logged = Math.max(
    1,
    Math.floor(Math.min(
      steps,
      logSize > 0 ? memory / (atOnce * logSize) : Infinity,
      software && inner > 0 ? softwareTerms / (atOnce * inner) : Infinity,
    )),
  );
  if (spilled.size > 0) {
    bound.set("spill", temporary(allocateView(device, [groups * spilled.size * samples], "float32")));
  }
  if (logSize > 0) bound.set("log", temporary(allocateView(device, [logged * atOnce * logSize], "float32")));

  const buffers = loop.bindings.map((name) => memoryOf(bound.get(name)!.source));
  const offsets = groupsOf(plan).map(({ name }) => bound.get(name)!.offset);
  const totals = new Totals(device, plan);
  for (let first = 0; first < batch; first += atOnce) {
    const last = Math.min(batch, first + atOnce);
    for (let step = 0; step < steps; step += logged) {
      const end = Math.min(steps, step + logged);
      const mostSteps = Math.floor(affordable / atOnce);
      for (const part of partsOf(loop, { step, end, steps }, mostTurns(device), mostSteps)) {
        device.dispatch({
          key: loop.key,
          source: () => ({ name: "loop", code: loop.code, access: loop.access }),
          buffers,
          words: [
            ...[
              0,
              batch,
              first,
              last,
              steps,
              part.step,
              part.count,
              step,
              (end - step) * (last - first),
              part.firstKernel,
              part.lastKernel,
            ],
            ...offsets,
          ],
          workgroups: [Math.ceil((last - first) / samples)],
          shapes: [[steps, batch]],
        });
      }
      if (logSize > 0) totals.add(bound.get("log")!, (end - step) * (last - first));
    }
  }

  const output = (i: number): BufferView => {
    const { group, member } = plan.outputAt[i];
    const { size } = group.members[member];
    const view = produced.get(group)![member];
    return { ...view, shape: [steps, batch, size], strides: [batch * size, size, 1] };
  };
  const sumOver = (view: BufferView, axis: number) => new Tensor(view).sum(axis).view as BufferView;
  const result: RunResult = {
    finals: carried.slice(0, states.length),
    outputs: program.outputs.map((_, i) => output(i)),
    stepSums: program.stepSums.map((_, i) => sumOver(output(program.outputs.length + i), 1)),
    sums: program.sums.map(({ over }, i) => {
      const sum = carried[states.length + i];
      return over === "steps" ? sum : sumOver(sum, 0);
    }),
    totals: totals.sums,
  };
  for (const buffer of temporaries) buffer.free();
  return result;
}

/** Sums of the log's products. */
class Totals {
  readonly #device: WebGpuDevice;
  readonly #plan: Plan;
  sums: BufferView[] = [];

  constructor(device: WebGpuDevice, plan: Plan) {
    this.#device = device;
    this.#plan = plan;
  }

  /** Adds the products of so many rows of the log, a row for each of its steps and samples. */
  add(log: BufferView, logRows: number): void {
    const { totals, log: { members } } = this.#plan;
    this.sums = totals.map(({ member, count, inner, rows, columns }, i) => {
      const terms = inner * logRows;
      const start = (member: number) =>
        logRows * members.slice(0, member).reduce((sum, { size }) => sum + size, 0);
      const left = { ...log, offset: start(member), shape: [rows, terms], strides: [1, rows] };
      const right = { ...log, offset: start(member + count), shape: [terms, columns], strides: [columns, 1] };
      const product = allocateView(this.#device, [rows, columns], "float32");
      this.#device.matmul(left, right, product);
      const before = this.sums[i];
      if (!before) return product;
      const sum = allocateView(this.#device, [rows, columns], "float32");
      this.#device.map({ name: "add", build: add }, [before, product], sum);
      before.source.free();
      product.source.free();
      return sum;
    });
  }
}

/** Memory for a group's arrays of so many samples. */
function allocateGroup(
  device: WebGpuDevice,
  { members }: Group,
  samples: number,
  isZero: boolean,
): BufferView[] {
  const shape = [samples * members.reduce((sum, { size }) => sum + size, 0)];
  const all = isZero
    ? copy(device, { source: 0, dtype: "float32", shape, strides: [0], offset: 0 })
    : allocateView(device, shape, "float32");
  let offset = 0;
  return members.map(({ size, dtype }) => {
    const view = { ...all, dtype, shape: [samples, size], strides: [size, 1], offset };
    offset += samples * size;
    return view;
  });
}

/** Copies of views, one after another. */
function packed(device: WebGpuDevice, views: readonly BufferView[]): BufferView {
  const sizes = views.map(({ shape }) => sizeOf(shape));
  const all = allocateView(device, [sizes.reduce((sum, size) => sum + size, 0)], "float32");
  let offset = 0;
  views.forEach((view, i) => {
    device.copy(view, all.source, offset);
    offset += sizes[i];
  });
  return all;
}

function packConstants(device: WebGpuDevice, { program, inputs }: Run, { shared }: Plan): BufferView {
  const all = allocateView(device, [shared.constants.size], "float32");
  program.inputs.forEach(({ role }, i) => {
    const offset = shared.offsets[i];
    if (role === "constant" && offset !== undefined) device.copy(inputs[i], all.source, offset);
  });
  return all;
}

function packRows(device: WebGpuDevice, { program, inputs, steps }: Run, { shared }: Plan): BufferView {
  const width = shared.rows.size;
  const all = allocateView(device, [steps, width], "float32");
  program.inputs.forEach(({ role, size }, i) => {
    const offset = shared.offsets[i];
    if (role !== "row" || offset === undefined || size === 0) return;
    const view = { ...inputs[i], shape: [steps, size], strides: [size, 1] };
    if (size === width) device.copy(view, all.source, 0);
    else device.map(identity, [view], { ...view, source: all.source, strides: [width, 1], offset });
  });
  return all;
}
