/**
 * A {@link ../program.ts Program} as WGSL. A workgroup owns one sample or a few, whose slots lie in its memory, or in a
 * storage buffer where they do not fit; its invocations share the elements of each kernel. A kernel's code takes addresses,
 * lengths and strides as arguments, which it finds in a buffer, so that the stages of a Runge-Kutta step, which differ in
 * nothing else, are a loop: compiling takes as long as the different kernels do. (Bounds of loops that are constants would
 * also make some drivers unroll for seconds.) Gradients of weights are products of matrices with a row for each sample and
 * step: the shader only writes those rows down, and the device's matrix product does the rest.
 */
import { largest } from "../../device/extremes.ts";
import loopSource from "../../../kernels/loop.wgsl" with { type: "text" };
import { accessOf, type Binding, declare } from "../../device/webgpu/kernel.ts";
import type { Operand, Program } from "../program.ts";
import type { Chain } from "./chains.ts";
import { type Access, indent, loopIterations } from "./function_text.ts";
import { chainText } from "./kernels.ts";
import { Memory } from "./memory.ts";
import type { GpuLayout, Group, Place } from "./gpu_layout.ts";
import { findRepetitions, type SequencePart } from "./sequence.ts";

/** A program's shader. */
export interface WgslLoop {
  readonly code: string;
  readonly access: string;
  /** Names of the buffers, in order. */
  readonly bindings: readonly string[];
  /** Names of the parameters, in order. */
  readonly params: readonly string[];
  /** Words of the buffer `args`. */
  readonly args: Uint32Array;
  /** Iterations that an invocation takes in loops at most, by section. */
  readonly iterations: Readonly<Record<SectionName, number>>;
}

/** Code before the steps of a dispatch, of each step, and after the steps. */
export type SectionName = "before" | "step" | "after";

/** A kernel with its arguments. */
interface Call {
  readonly name: string;
  readonly args: readonly number[];
  readonly accesses: readonly Access[];
  readonly iterations: number;
  /** Characters of the function. */
  readonly weight: number;
}

/** All arrays' buffers. */
export function groupsOf({ carry, fixed, rows, outputs, productRows }: GpuLayout): Group[] {
  return [carry, fixed, ...rows, ...outputs, productRows].filter(({ members }) => members.length > 0);
}

/** Emits a program. */
export function emitWgsl(program: Program, layout: GpuLayout): WgslLoop {
  return new Emitter(program, layout).emit();
}

class Emitter {
  readonly #program: Program;
  readonly #layout: GpuLayout;
  readonly #memory: Memory;
  /** By their text. */
  readonly #functions = new Map<string, string>();
  readonly #args: number[] = [];

  constructor(program: Program, layout: GpuLayout) {
    this.#program = program;
    this.#layout = layout;
    this.#memory = new Memory(program, layout);
  }

  emit(): WgslLoop {
    const { inputs, sums, slots } = this.#program;
    const { carry, inputAt, chains } = this.#layout;
    const whole = (slot: number): Operand => {
      const { size, dtype } = slots[slot];
      return { slot, dtype, shape: [size], strides: [1], offset: 0 };
    };
    const carried = [
      ...inputs.flatMap(({ role, slot }) => role === "state" ? [slot!] : []),
      ...sums.map(({ slot }) => slot),
    ].filter((slot) => slots[slot].size > 0);
    const placeOf = (member: number): Place => ({ group: carry, member });
    const load = (slot: number, place: Place) => this.#call([{ kind: "load", place, output: whole(slot) }]);
    const before = [
      ...carried.map((slot, i) => load(slot, placeOf(i))),
      ...inputs.flatMap(({ role, slot, size }, i) =>
        role === "constant" && slot !== undefined && size > 0 ? [load(slot, inputAt[i]!)] : []
      ),
    ];
    const step = chains.map((chain) => this.#call(chain));
    const after = carried.map((slot, i) =>
      this.#call([{ kind: "store", place: placeOf(i), operands: [whole(slot)] }])
    );
    const waits = findWaits(before, step, after);
    const texts: string[] = [];
    const write = (name: SectionName, calls: readonly Call[]): number => {
      const { lines, iterations } = this.#section(calls, waits);
      texts.push(`fn ${name}() {`, ...lines.map(indent), "}");
      return iterations;
    };
    const iterations = {
      before: write("before", before),
      step: write("step", step),
      after: write("after", after),
    };
    return { ...this.#shader(texts), args: Uint32Array.from(this.#args, (word) => word >>> 0), iterations };
  }

  /** Makes a call of a chain's function, which is emitted unless another has the same text. */
  #call(chain: Chain): Call {
    const { text, args, accesses, iterations } = chainText(chain, this.#memory, this.#layout);
    let name = this.#functions.get(text);
    if (!name) this.#functions.set(text, name = `kernel${this.#functions.size}`);
    return { name, args, accesses, iterations, weight: text.length };
  }

  /** Statements that run calls in order, loops where they repeat. */
  #section(calls: readonly Call[], waits: ReadonlySet<Call>): { lines: string[]; iterations: number } {
    const sum = (parts: readonly { iterations: number }[]) =>
      parts.reduce((sum, { iterations }) => sum + iterations, 0);

    /** Places the arguments of a part, for all iterations of the loops around it; returns what finds those of one iteration. */
    const write = (
      part: SequencePart<Call>,
      loops: readonly number[],
      depth: number,
    ): { lines: string[]; iterations: number } => {
      if (part.kind === "repeated") {
        const inside = part.parts.map((inner) => write(inner, [...loops, part.times], depth + 1));
        const bound = this.#args.push(part.times) - 1;
        return {
          lines: [
            `for (var r${depth} = 0u; r${depth} < argument(${bound}u); r${depth}++) {`,
            ...inside.flatMap(({ lines }) => lines).map(indent),
            "}",
          ],
          iterations: loopIterations(part.times, sum(inside)),
        };
      }
      const { items } = part;
      const names = [...new Set(items.map(({ name }) => name))];
      const arity = largest(items.map(({ args }) => args.length));
      // Before the arguments stands what to call, where that differs.
      const head = names.length > 1 ? 1 : 0;
      const start = this.#args.length;
      for (const call of items) {
        const words = [...call.args, ...Array(arity - call.args.length).fill(0)];
        if (names.length > 1) words.unshift(names.indexOf(call.name));
        for (const word of words) this.#args.push(word);
      }
      let iteration = "";
      loops.forEach((times, i) => iteration = i === 0 ? "r0" : `(${iteration} * ${times}u + r${i})`);
      const lines = [`at = ${start}u${iteration && ` + ${iteration} * ${head + arity}u`};`];
      const invoke = (name: string) => {
        const { args } = items.find((call) => call.name === name)!;
        return `${name}(${args.map((_, i) => `argument(at + ${head + i}u)`).join(", ")});`;
      };
      if (items.some((call) => waits.has(call))) lines.push("synchronize();");
      if (names.length === 1) lines.push(invoke(names[0]));
      else names.forEach((name, i) => lines.push(`if (argument(at) == ${i}u) { ${invoke(name)} }`));
      // The longest of each name stands for all: a bound is enough.
      const iterations = names.reduce(
        (sum, name) =>
          sum + largest(items.filter((call) => call.name === name).map((call) => call.iterations)),
        0,
      );
      return { lines, iterations };
    };
    const parts = findRepetitions(calls, ({ name }) => name, ({ weight }) => weight).map((part) =>
      write(part, [], 0)
    );
    return { lines: ["var at = 0u;", ...parts.flatMap(({ lines }) => lines)], iterations: sum(parts) };
  }

  #shader(sections: readonly string[]): Pick<WgslLoop, "code" | "access" | "bindings" | "params"> {
    const { samples, lanes, local, spilled, shared, word } = this.#layout;
    const groups = groupsOf(this.#layout);
    const { constants, rows, uniform } = shared;
    const quarters = (type: string, size: number) => `array<vec4<${type}>, ${Math.ceil(size / 4)}>`;
    const areArgsUniform = this.#args.length <= this.#layout.uniformWords;
    const bindings: Binding[] = [
      areArgsUniform
        ? { name: "args", type: quarters("u32", this.#args.length), access: "uniform" }
        : { name: "args", type: "u32", access: "read" },
    ];
    if (uniform) {
      bindings.push({ name: "constants", type: quarters("f32", constants.size), access: "uniform" });
    } else if (constants.size > 0) bindings.push({ name: "constants", type: constants.word, access: "read" });
    if (rows.size > 0) bindings.push({ name: "shared_rows", type: rows.word, access: "read" });
    for (const { name, word, access } of groups) bindings.push({ name, type: word, access });
    if (spilled.size > 0) bindings.push({ name: "spill", type: word, access: "read_write" });
    const params = [
      ...["zero", "batch", "first_sample", "last_sample", "steps", "first_step", "count"],
      ...["first_product_step", "product_volume"],
      ...groups.map(({ name }) => `${name}_offset`),
    ];
    const functions = [...this.#functions].map(([text, name]) => `fn ${name}${text}`);
    const variables = ["lane", "own", "valid", "position", "row", "product_step", "spill_start"];
    const code = [
      declare(bindings, params),
      `const samples = ${samples}u;`,
      `const lanes = ${lanes}u;`,
      `const slot_size = ${spilled.size * samples}u;`,
      ...variables.map((name) => `var<private> ${name}: u32;`),
      ...local.size > 0 ? [`var<workgroup> slots: array<${word}, ${local.size * samples}>;`] : [],
      ...functions,
      "fn argument(i: u32) -> u32 {",
      `  return ${areArgsUniform ? "args[i / 4u][i % 4u]" : "args[i]"};`,
      "}",
      "fn row_of(done: u32) -> u32 {",
      `  return ${this.#program.backward ? "params.steps - 1u - done" : "done"};`,
      "}",
      "fn synchronize() {",
      ...spilled.size > 0 ? ["  storageBarrier();"] : [],
      "  workgroupBarrier();",
      "}",
      ...sections,
      loopSource,
    ].join("\n");
    return { code, access: accessOf(bindings), bindings: bindings.map(({ name }) => name), params };
  }
}

/**
 * The calls before which invocations must wait for each other, since they need what another wrote, or overwrite what
 * another reads.
 */
function findWaits(before: readonly Call[], step: readonly Call[], after: readonly Call[]): Set<Call> {
  const waits = new Set<Call>();
  let pending: Access[] = [];
  // The step twice: its end meets its beginning.
  for (const call of [...before, ...step, ...step, ...after]) {
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
