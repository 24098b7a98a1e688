/**
 * Emits a {@link ../../program/program.ts Program} as WGSL. A workgroup computes one or a few samples. Their slots are in workgroup
 * memory, or in a storage buffer if they are too large. The invocations of a workgroup share the elements of each kernel.
 *
 * A step is a list of calls in a buffer. Each call has a function, a flag for a barrier before it, and arguments: addresses,
 * lengths and strides. The stages of a Runge-Kutta step share functions, so that each function is compiled once. Constant loop
 * bounds would make some drivers unroll loops for seconds.
 *
 * Weight gradients are products of matrices with a row per sample and step. The shader writes the rows; the matrix product of
 * the device computes the gradients.
 */
import { largest } from "../../../device/min_max.ts";
import loopSource from "../../../../kernels/loop.wgsl" with { type: "text" };
import { type Binding, type KernelSource, kernelSource } from "../../../device/webgpu/kernel.ts";
import type { Program } from "../../program/program.ts";
import { type Chain, elementsOf, wholeSlot } from "./chains.ts";
import { type Access, indent } from "./function_text.ts";
import { chainText } from "./chain_functions.ts";
import { ShaderMemory } from "./shader_memory.ts";
import type { Group, Place } from "./buffer_groups.ts";
import type { WorkgroupShape } from "./choose_workgroup.ts";
import type { GpuLayout } from "./gpu_layout.ts";

/** A program's shader. */
export interface WgslLoop extends KernelSource {
  /** Names of the buffers, in order. */
  readonly bindings: readonly string[];
  /** Words of the buffer `args`. */
  readonly args: Uint32Array;
  /** Maximum loop iterations of an invocation: in a step, and in prologue and epilogue together. */
  readonly iterations: { readonly step: number; readonly ends: number };
  /** Calls of functions in a step, and barriers before them. */
  readonly perStep: { readonly calls: number; readonly barriers: number };
}

/** A call of a chain's function. */
interface Call {
  readonly chain: Chain;
  /** Position of the function among the {@linkcode Emitter.functions}. */
  readonly index: number;
  readonly args: readonly number[];
  readonly accesses: readonly Access[];
}

/** Groups of all arrays. */
export function groupsOf({ carry, inputs, outputs, productRows }: GpuLayout): Group[] {
  return [carry, ...inputs, ...outputs, productRows].filter(({ members }) => members.length > 0);
}

/** Emits a program. */
export function emitWgsl(program: Program, layout: GpuLayout): WgslLoop {
  return new Emitter(program, layout).emit();
}

class Emitter {
  readonly #program: Program;
  readonly #layout: GpuLayout;
  readonly #memory: ShaderMemory;
  /** Position of each function, by its text. */
  readonly #functions = new Map<string, { index: number; arity: number }>();

  constructor(program: Program, layout: GpuLayout) {
    this.#program = program;
    this.#layout = layout;
    this.#memory = new ShaderMemory(layout);
  }

  emit(): WgslLoop {
    const { inputs, sums, slots } = this.#program;
    const { carry, inputAt, chains } = this.#layout;
    const whole = (slot: number) => wholeSlot(this.#program, slot);
    const carried = [
      ...inputs.flatMap(({ role, slot }) => role === "state" ? [slot!] : []),
      ...sums.map(({ slot }) => slot),
    ].filter((slot) => slots[slot].size > 0);
    const placeOf = (member: number): Place => ({ group: carry, member });
    const load = (slot: number, place: Place) =>
      this.#call([{ kind: "load", place, operands: [], output: whole(slot) }]);
    const prologue = [
      ...carried.map((slot, i) => load(slot, placeOf(i))),
      ...inputs.flatMap(({ role, slot, size }, i) =>
        role === "constant" && slot !== undefined && size > 0 ? [load(slot, inputAt[i]!)] : []
      ),
    ];
    const step = chains.map((chain) => this.#call(chain));
    const epilogue = carried.map((slot, i) =>
      this.#call([{ kind: "store", place: placeOf(i), operands: [whole(slot)] }])
    );
    const calls = [...prologue, ...step, ...epilogue];
    const waits = findWaits(prologue, step, epilogue);
    const size = 2 + largest(calls.map(({ args }) => args.length));
    const args = new Uint32Array(size * calls.length);
    calls.forEach((call, i) => args.set([call.index, waits.has(call) ? 1 : 0, ...call.args], i * size));
    return {
      ...this.#shader(
        args.length,
        size,
        [prologue.length, prologue.length + step.length, calls.length],
        waits.size > 0,
      ),
      args,
      iterations: {
        step: this.#iterationsOf(step),
        ends: this.#iterationsOf(prologue) + this.#iterationsOf(epilogue),
      },
      perStep: { calls: step.length, barriers: step.filter((call) => waits.has(call)).length },
    };
  }

  /** A call of a chain's function. Functions with equal texts are emitted once. */
  #call(chain: Chain): Call {
    const { text, args, accesses } = chainText(chain, this.#memory, this.#layout);
    let emitted = this.#functions.get(text);
    if (!emitted) this.#functions.set(text, emitted = { index: this.#functions.size, arity: args.length });
    return { chain, index: emitted.index, args, accesses };
  }

  /** llvmpipe evaluates all branches, so the loops of functions that are not called count too. */
  #iterationsOf(calls: readonly Call[]): number {
    const loops = [...this.#functions.keys()].join().split("for (").length;
    const own = calls.map(({ chain }) => iterationsOf(chain, this.#layout));
    return own.reduce((sum, iterations) => sum + iterations + loops, 1);
  }

  /**
   * @param argumentWords Words of the buffer `args`.
   * @param size Words of a call.
   * @param ends Positions of the last calls of prologue, step and epilogue.
   * @param waits Whether any call has a barrier.
   */
  #shader(
    argumentWords: number,
    size: number,
    ends: readonly number[],
    waits: boolean,
  ): KernelSource & Pick<WgslLoop, "bindings"> {
    const { samples, lanes, block, local, spilled, word } = this.#layout;
    // Samples with one invocation each are interleaved.
    const [ownSize, spillSize] = lanes === 1 ? [1, 1] : [local.size / block, spilled.size];
    const words = block > 1 ? `array<${word}, ${block}>` : word;
    const groups = groupsOf(this.#layout);
    const areArgsUniform = argumentWords <= this.#layout.uniformWords;
    const bindings: Binding[] = [
      areArgsUniform
        ? { name: "args", type: `array<vec4<u32>, ${Math.ceil(argumentWords / 4)}>`, access: "uniform" }
        : { name: "args", type: "u32", access: "read" },
    ];
    for (const { name, word, block, access } of groups) {
      bindings.push({ name, type: block > 1 ? `vec${block}<${word}>` : word, access });
    }
    if (spilled.size > 0) bindings.push({ name: "spill", type: word, access: "read_write" });
    const params = [
      ...["zero", "batch", "first_sample", "last_sample", "steps", "first_step", "count"],
      ...["first_product_step", "product_volume"],
      ...groups.map(({ name }) => `${name}_offset`),
    ];
    const functions = [...this.#functions];
    const variables = ["invocation", "lane", "own", "valid", "position", "first_position"];
    variables.push("row", "product_step", "own_start", "spill_start", "first_spill");
    const source = kernelSource("loop", bindings, params, [
      `const samples = ${samples}u;`,
      `const lanes = ${lanes}u;`,
      `const slot_size = ${spilled.size * samples}u;`,
      `const own_size = ${ownSize}u;`,
      `const spill_size = ${spillSize}u;`,
      `const call_size = ${size}u;`,
      ...["prologue", "step", "epilogue"].map((section, i) => `const ${section}_end = ${ends[i]}u;`),
      ...variables.map((name) => `var<private> ${name}: u32;`),
      ...local.size > 0 ? [`var<workgroup> slots: array<${words}, ${local.size * samples / block}>;`] : [],
      ...functions.map(([text, { index }]) => `fn kernel${index}${text}`),
      "fn argument(i: u32) -> u32 {",
      `  return ${areArgsUniform ? "args[i / 4u][i % 4u]" : "args[i]"};`,
      "}",
      "fn row_of(done: u32) -> u32 {",
      `  return ${this.#program.backward ? "params.steps - 1u - done" : "done"};`,
      "}",
      "fn synchronize() {",
      ...waits && spilled.size > 0 ? ["  storageBarrier();"] : [],
      ...waits ? ["  workgroupBarrier();"] : [],
      "}",
      "fn invoke(kernel: u32, at: u32) {",
      ...Array.from({ length: size - 2 }, (_, i) => `  let a${i} = argument(at + ${i}u);`),
      ...callText(functions.map(([, { arity }]) => arity)).map(indent),
      "}",
      loopSource,
    ]);
    return { ...source, bindings: bindings.map(({ name }) => name) };
  }
}

/**
 * Maximum cases of a switch statement. Drivers compile a statement to nested conditions: llvmpipe ignores those at more than 80
 * levels, and the conditions of groups are fewer on the way to a case.
 */
const maxCases = 32;

/** The statements that call one of the functions by its position, given the number of arguments of each. */
function callText(arities: readonly number[]): string[] {
  const cases = arities.map((arity, i) => {
    const args = Array.from({ length: arity }, (_, i) => `a${i}`);
    return `case ${i}u: { kernel${i}(${args.join(", ")}); }`;
  });
  const choose = (value: string, cases: readonly string[]) => [
    `switch ${value} {`,
    ...[...cases, "default: {}"].map(indent),
    "}",
  ];
  if (cases.length <= maxCases) return choose("kernel", cases);
  const groups = Array.from(
    { length: Math.ceil(cases.length / maxCases) },
    (_, i) => choose("kernel", cases.slice(i * maxCases, (i + 1) * maxCases)).join(" "),
  );
  return choose(`kernel / ${maxCases}u`, groups.map((text, i) => `case ${i}u: { ${text} }`));
}

/** Loop iterations of an invocation in a chain's function. */
function iterationsOf([head]: Chain, { lanes }: WorkgroupShape): number {
  const nest = (times: number, inside: number) => (times + 1) * (1 + inside);
  let inside = 0;
  if (head.kind === "contract") inside = nest(head.operands[0].shape.at(-1)!, 0);
  if (head.kind === "reduce") inside = head.axes.reduce((sum, axis) => nest(head.shape[axis], sum), 0);
  return nest(Math.ceil(elementsOf(head) / lanes), inside);
}

/** The calls that need a barrier before them: they read what another invocation wrote, or overwrite what another reads. */
function findWaits(prologue: readonly Call[], step: readonly Call[], epilogue: readonly Call[]): Set<Call> {
  const waits = new Set<Call>();
  let pending: Access[] = [];
  // Twice, because the calls at the start of a step follow those at the end of the step before.
  for (const call of [...prologue, ...step, ...step, ...epilogue]) {
    const { accesses } = call;
    const depends = () => accesses.some((access) => pending.some((other) => conflict(access, other)));
    if (waits.has(call) || depends()) {
      waits.add(call);
      pending = [];
    }
    for (const access of accesses) pending.push(access);
  }
  return waits;
}

function conflict(a: Access, b: Access): boolean {
  if (!a.isWrite && !b.isWrite || a.space !== b.space) return false;
  if (a.owner !== undefined && a.owner === b.owner) return false;
  return a.start < b.end && b.start < a.end;
}
