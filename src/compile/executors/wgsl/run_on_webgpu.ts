/** Runs programs on a GPU. */
import type { Buffer, BufferView } from "../../../device/device.ts";
import { LruCache } from "../../../device/lru_cache.ts";
import { sizeOf } from "../../../device/shape.ts";
import { allocateView, copy, makeContiguous, numberView, uploadView } from "../../../device/view.ts";
import { memoryOf, type WebGpuDevice } from "../../../device/webgpu/device.ts";
import { Tensor } from "../../../tensor/tensor.ts";
import type { Run, RunResult } from "../run.ts";
import { identityOf } from "../../program/identity.ts";
import type { Program } from "../../program/program.ts";
import { addProduct } from "../add_product.ts";
import { chunksOf } from "../../loop/chunks.ts";
import { Uncompilable } from "../../trace/uncompilable.ts";
import { emitWgsl, groupsOf, type WgslLoop } from "./emit_wgsl.ts";
import { type Group, roundUp, sizeOfAll } from "./buffer_groups.ts";
import { type Adapter, chooseWorkgroup, type WorkgroupShape } from "./choose_workgroup.ts";
import { type GpuLayout, layOutOnGpu } from "./gpu_layout.ts";
import { packedSize, writePacked } from "./packed_weights.ts";
import { chooseDispatchSize, stepsWithin } from "./dispatch_size.ts";

/** The shader and the layout of a program. */
export interface Compiled extends WgslLoop {
  readonly key: string;
  readonly layout: GpuLayout;
}

/** Maximum shaders. A program contains the values of numbers, so each new value makes a new program. */
const maxCompiled = 512;

/**
 * Shaders as text, for all devices of the process. The cache holds no GPU memory, which captured commands could still use after an
 * eviction.
 */
const compiled = new LruCache<string, Compiled>(maxCompiled);
let count = 0;

/** Limits that a layout depends on. */
const limitNames = Object.keys(
  {
    maxStorageBuffersPerShaderStage: 0,
    maxStorageBufferBindingSize: 0,
    maxComputeWorkgroupsPerDimension: 0,
    maxUniformBufferBindingSize: 0,
    maxComputeWorkgroupStorageSize: 0,
    maxComputeInvocationsPerWorkgroup: 0,
  } satisfies Record<keyof Adapter["limits"], 0>,
) as (keyof Adapter["limits"])[];
const limitTexts = new WeakMap<Adapter["limits"], string>();

/** The limits as a key. Each access to a limit of WebGPU calls the runtime, so the text is stored. */
function limitsText(limits: Adapter["limits"]): string {
  let text = limitTexts.get(limits);
  if (text === undefined) limitTexts.set(limits, text = limitNames.map((name) => limits[name]).join(" "));
  return text;
}

/** llvmpipe leaves all loops of a shader after 65,535 iterations of an invocation, without an error. */
const softwareIterations = 60_000;

/** The adapter of a device. */
export function adapterOf({ info: { software }, limits }: WebGpuDevice): Adapter {
  return { maxIterations: software ? softwareIterations : Infinity, limits };
}

/** @throws {Uncompilable} If the loop needs more buffers, or a step more iterations in a dispatch, than the adapter allows. */
export function compile(program: Program, workgroup: WorkgroupShape, adapter: Adapter, key = ""): Compiled {
  const layout = layOutOnGpu(program, workgroup, adapter);
  const loop = { ...emitWgsl(program, layout), layout, key };
  const buffers = loop.access.replaceAll("u", "").length;
  const { maxStorageBuffersPerShaderStage } = adapter.limits;
  if (buffers > maxStorageBuffersPerShaderStage) {
    throw new Uncompilable(
      `the loop needs ${buffers} storage buffers, and the adapter binds ${maxStorageBuffersPerShaderStage}`,
    );
  }
  if (stepsWithin(loop, adapter.maxIterations) >= 1) return loop;
  throw new Uncompilable("a step needs more loop iterations than a software adapter allows in a dispatch");
}

function cached(program: Program, workgroup: WorkgroupShape, adapter: Adapter): Compiled {
  const { samples, lanes } = workgroup;
  const key = `${identityOf(program)} ${samples} ${lanes} ${adapter.maxIterations} ${
    limitsText(adapter.limits)
  }`;
  return compiled.getOrMake(key, () => compile(program, workgroup, adapter, `loop ${count++}`));
}

/**
 * Runs a program on a GPU, without reading from it.
 *
 * @param adapter Properties of the adapter. Default: those of the device.
 * @param workgroup Default: chosen from the shapes.
 */
export function runOnWebGpu(
  device: WebGpuDevice,
  task: Run,
  adapter: Adapter = adapterOf(device),
  workgroup: WorkgroupShape = chooseWorkgroup(task.program, task.batch, adapter),
): RunResult {
  const inputs = task.inputs.map((view) => makeContiguous(device, view));
  const run = { ...task, inputs };
  const { program, batch, steps } = run;
  const loop = cached(program, workgroup, adapter);
  const { layout } = loop;
  const { carry, outputs, productRows, spilled } = layout;
  const dispatchSize = chooseDispatchSize(run, layout, adapter);
  const maxSteps = Math.min(dispatchSize.steps, stepsWithin(loop, adapter.maxIterations));

  const states = inputs.filter((_, i) => program.inputs[i].role === "state");
  const carried = allocateGroup(device, carry, batch, program.sums.length > 0);
  states.forEach((state, i) => device.copy(state, carried[i].source, carried[i].offset));
  const produced = outputs.map((group) => allocateGroup(device, group, steps * batch));
  const temporaries = new Map<string, BufferView>(packInputs(device, run, layout));
  temporaries.set("args", uploadView(device, loop.args, [loop.args.length], "uint32"));
  const temporary = (name: string, size: number) => {
    if (size > 0) temporaries.set(name, allocateView(device, [size], "float32"));
  };
  temporary("spill", Math.ceil(dispatchSize.samples / layout.samples) * layout.samples * spilled.size);
  temporary(
    "product_rows",
    dispatchSize.stepsPerProduct * dispatchSize.samples * sizeOfAll(productRows.members),
  );
  const bound = new Map([
    ...carried.slice(0, 1).map((view) => [carry.name, view] as const),
    ...outputs.map((group, i) => [group.name, produced[i][0]] as const),
    ...inputsAlone(run, layout),
    ...temporaries,
  ]);

  const buffers = loop.bindings.map((name) => memoryOf(bound.get(name)!.source));
  const offsets = groupsOf(layout).map(({ name }) => bound.get(name)!.offset);
  let weightGradients: BufferView[] = [];
  for (let first = 0; first < batch; first += dispatchSize.samples) {
    const last = Math.min(batch, first + dispatchSize.samples);
    for (const { start, count: together } of chunksOf(steps, dispatchSize.stepsPerProduct)) {
      const rows = together * (last - first);
      for (const { start: done, count } of chunksOf(together, maxSteps)) {
        device.dispatch({
          key: loop.key,
          source: () => loop,
          buffers,
          words: [0, batch, first, last, steps, start + done, count, start, rows, ...offsets],
          workgroups: Math.ceil((last - first) / layout.samples),
          operations: dispatchSize.operations * (last - first) * count,
          shapes: [[steps, batch]],
        });
      }
      if (bound.has("product_rows")) {
        weightGradients = addProducts(device, layout, bound.get("product_rows")!, rows, weightGradients);
      }
    }
  }
  const result = collect(program, { carried, weightGradients, states: states.length }, (i) => {
    const { group, member } = layout.outputAt[i];
    const { size } = group.members[member];
    const view = produced[outputs.indexOf(group)][member];
    return { ...view, shape: [steps, batch, size], strides: [batch * size, size, 1] };
  });
  const owned = new Set<Buffer>([...temporaries.values()].map((view) => view.source));
  for (const buffer of owned) buffer.free();
  return result;
}

function collect(
  program: Program,
  { carried, weightGradients, states }: {
    carried: BufferView[];
    weightGradients: BufferView[];
    states: number;
  },
  output: (i: number) => BufferView,
): RunResult {
  const sumOver = (view: BufferView, axis: number) => new Tensor(view).sum(axis).view as BufferView;
  return {
    finals: carried.slice(0, states),
    outputs: program.outputs.map((_, i) => output(i)),
    stepSums: program.stepSums.map((_, i) => sumOver(output(program.outputs.length + i), 1)),
    sums: program.sums.map(({ over }, i) =>
      over === "steps" ? carried[states + i] : sumOver(carried[states + i], 0)
    ),
    weightGradients,
  };
}

/** Adds the products of `rowCount` product rows, one per step and sample, to weight gradients. */
function addProducts(
  device: WebGpuDevice,
  { weightGradients, productRows: { members } }: GpuLayout,
  productRows: BufferView,
  rowCount: number,
  before: readonly BufferView[],
): BufferView[] {
  return weightGradients.map(({ member, count, inner, rows, columns }, i) => {
    const terms = inner * rowCount;
    const start = (member: number) => rowCount * sizeOfAll(members.slice(0, member));
    const left = { ...productRows, offset: start(member), shape: [terms, rows], strides: [rows, 1] };
    const right = {
      ...productRows,
      offset: start(member + count),
      shape: [terms, columns],
      strides: [columns, 1],
    };
    return addProduct(device, left, right, before[i]);
  });
}

/** Allocates the arrays of a group for a number of samples. */
function allocateGroup(device: WebGpuDevice, group: Group, samples: number, isZero = false): BufferView[] {
  const shape = [samples * sizeOfAll(group.members)];
  const all = isZero ? copy(device, numberView(0, shape, "float32")) : allocateView(device, shape, "float32");
  let offset = 0;
  return group.members.map(({ size, dtype }) => {
    const view = { ...all, dtype, shape: [samples, size], strides: [size, 1], offset };
    offset += samples * size;
    return view;
  });
}

/** The inputs of a group, in order. Packed weights follow. */
function membersOf(group: Group, { inputs }: Run, { inputAt }: GpuLayout): BufferView[] {
  return group.members.flatMap((_, member) => {
    const input = inputAt.findIndex((place) => place?.group === group && place.member === member);
    return input < 0 ? [] : [inputs[input]];
  });
}

/** Inputs with a separate buffer, which are read in place. */
function inputsAlone(run: Run, layout: GpuLayout): [name: string, view: BufferView][] {
  return layout.inputs.filter(({ members, block }) => members.length === 1 && block === 1).map((
    group,
  ) => [group.name, membersOf(group, run, layout)[0]]);
}

/** Copies inputs that share a buffer, and packs weights. */
function* packInputs(
  device: WebGpuDevice,
  run: Run,
  layout: GpuLayout,
): Generator<[name: string, view: BufferView]> {
  for (const group of layout.inputs) {
    const { name, members, block } = group;
    if (members.length < (block > 1 ? 1 : 2)) continue;
    const packed = layout.packed.filter((_, i) => layout.packedAt[i].group === group);
    const views = membersOf(group, run, layout);
    const sizes = [...views.map(({ shape }) => sizeOf(shape)), ...packed.map(packedSize)];
    const starts = sizes.map((_, i) =>
      sizes.slice(0, i).reduce((sum, size) => sum + roundUp(size, block), 0)
    );
    const total = starts.at(-1)! + roundUp(sizes.at(-1)!, block);
    const all = allocateView(device, [total], "float32");
    views.forEach((view, i) => device.copy(view, all.source, starts[i]));
    packed.forEach((matrix, i) =>
      writePacked(device, matrix, run.inputs[matrix.input], { ...all, offset: starts[views.length + i] })
    );
    yield [name, all];
  }
}
