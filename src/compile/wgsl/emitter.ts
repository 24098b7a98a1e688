/**
 * A {@link ./program.ts Program} as WGSL. A workgroup owns one sample or a few, whose slots lie in its memory, or in a
 * storage buffer where they do not fit; its invocations share the elements of each kernel. The program becomes a list of
 * instructions that the shader walks: a kernel's code takes addresses, lengths and strides as arguments, so that the stages
 * of a Runge-Kutta step share it, and compiling takes as long as the different kernels do. (Loop bounds that are constants
 * would also make some drivers unroll for seconds.)
 */
import loopSource from "../../kernels/loop.wgsl" with { type: "text" };
import { collapse, type Walk } from "../device/collapse.ts";
import type { DType } from "../device/dtype.ts";
import { add, identity, instantiate, max, min, type Scalar } from "../device/scalar.ts";
import { sizeOf } from "../device/shape.ts";
import { accessOf, type Binding, declare } from "../device/webgpu/kernel.ts";
import { emitScalar, valueType } from "../device/webgpu/scalar_wgsl.ts";
import type { Layout } from "./layout.ts";
import type {
  AccumulateKernel,
  ContractKernel,
  MapKernel,
  Operand,
  Program,
  ReduceKernel,
} from "./program.ts";

/** Words of memory are read as one of these. */
export type Word = "f32" | "u32";

/** Arrays that lie one after another in one buffer, each `(batch, size)` or `(steps, batch, size)`. */
export interface Group {
  readonly name: string;
  readonly word: Word;
  readonly access: "read" | "read_write";
  readonly perStep: boolean;
  readonly members: readonly Member[];
}

/** An array of a {@linkcode Group}. */
export interface Member {
  /** Elements of a sample. */
  readonly size: number;
  readonly dtype: DType;
}

/** How a program is spread over invocations and memory. */
export interface Plan {
  /** Samples of a workgroup. */
  readonly samples: number;
  /** Invocations of each sample. */
  readonly lanes: number;
  /** Slots in workgroup memory. */
  readonly local: Layout;
  /** Slots in a storage buffer. */
  readonly spilled: Layout;
  /** States and sums, read before the first of a dispatch's steps and written after the last. */
  readonly carry: Group;
  /** Constants that each sample has its own of. */
  readonly own: Group | undefined;
  readonly rows: readonly Group[];
  readonly outputs: readonly Group[];
  /** Where each input of a sample's own lies, and each output: first those of every step, then the sums of a step. */
  readonly inputAt: readonly (Place | undefined)[];
  readonly outputAt: readonly Place[];
  /** Where the inputs that samples share begin: constants, and behind all of those, rows, step by step. */
  readonly shared: SharedInputs;
}

/** A member of a group, by their positions. */
export interface Place {
  readonly group: Group;
  readonly member: number;
}

/** How shared inputs lie in one buffer. */
export interface SharedInputs {
  readonly word: Word;
  /** Of each shared input, in elements; rows count from the start of their step. */
  readonly offsets: readonly (number | undefined)[];
  /** Elements of all constants. */
  readonly constants: number;
  /** Elements of all rows of a step. */
  readonly row: number;
}

/** A program's shader. */
export interface WgslLoop {
  readonly code: string;
  readonly access: string;
  readonly bindings: readonly string[];
  readonly params: readonly string[];
  /** Of the buffer `instructions`. */
  readonly instructions: Uint32Array;
  /** Where each total starts in a workgroup's part, in elements. */
  readonly totals: readonly { readonly offset: number; readonly rows: number; readonly columns: number }[];
  /** Elements of a workgroup's part. */
  readonly totalSize: number;
}

/** Emits a program. */
export function emitWgsl(program: Program, plan: Plan): WgslLoop {
  return new Emitter(program, plan).emit();
}

/** Outputs of a matrix product that an invocation computes at once: more do not fit the registers of every adapter. */
const widestTile = 4;

/** Part of a memory that a kernel touches. */
interface Access {
  readonly space: "slots" | "spill" | "all slots";
  readonly start: number;
  readonly end: number;
  readonly isWrite: boolean;
  /** Accesses of the same owner touch each element from the same invocation. */
  readonly owner?: string;
}

interface Instruction {
  readonly operation: number;
  readonly args: readonly number[];
  readonly accesses: readonly Access[];
}

/** A WGSL function under construction, with the arguments that one of its calls has. */
class FunctionText {
  readonly names: string[] = [];
  readonly args: number[] = [];
  readonly lines: string[] = [];
  readonly accesses: Access[] = [];

  param(name: string, value: number): string {
    this.names.push(name);
    this.args.push(value);
    return name;
  }

  push(...lines: string[]): void {
    this.lines.push(...lines);
  }
}

/** An operand inside a function. */
interface Pointer {
  /** An expression for the address at coordinates along the walk's axes. */
  at(coordinates: readonly string[]): string;
  /** The variable that holds the address of the first element. */
  readonly start: string;
  /** An expression for the value at an address. */
  read(address: string): string;
  /** A statement that stores a value. */
  write(address: string, value: string): string;
  /** The argument that holds a stride, or none where it is zero. */
  readonly strides: readonly (string | undefined)[];
}

const operations = { endOfStep: 0, barrier: 1, kernels: 2 } as const;

class Emitter {
  readonly #program: Program;
  readonly #plan: Plan;
  /** How slots are stored. */
  readonly #word: Word;
  readonly #functions = new Map<string, { name: string; parameters: number }>();
  readonly #texts: string[] = [];
  readonly #totals: { offset: number; rows: number; columns: number }[];

  constructor(program: Program, plan: Plan) {
    this.#program = program;
    this.#plan = plan;
    this.#word = program.slots.some(({ dtype }) => dtype === "int32" || dtype === "uint32") ? "u32" : "f32";
    let end = 0;
    this.#totals = program.totals.map((size, total) => {
      const kernel = program.kernels.find((kernel): kernel is AccumulateKernel =>
        kernel.kind === "accumulate" && kernel.total === total
      )!;
      const offset = end;
      end += size;
      return { offset, rows: kernel.a.shape.at(-1)!, columns: kernel.b.shape.at(-1)! };
    });
  }

  emit(): WgslLoop {
    const { program, plan } = { program: this.#program, plan: this.#plan };
    const states = program.inputs.flatMap((input, i) => input.role === "state" ? [i] : []);
    const carried = [
      ...states.map((i) => program.inputs[i].slot!),
      ...program.sums.map(({ slot }) => slot),
    ];
    const loads = (role: "constant" | "row") =>
      program.inputs.flatMap(({ slot, ...input }, i) =>
        slot !== undefined && input.role === role ? this.#load(plan.inputAt[i]!, slot) : []
      );
    const before = [
      ...carried.flatMap((slot, member) => this.#load({ group: plan.carry, member }, slot)),
      ...loads("constant"),
    ];
    const step = [
      ...loads("row"),
      ...program.kernels.flatMap((kernel) => {
        switch (kernel.kind) {
          case "map":
            return this.#map(kernel);
          case "reduce":
            return this.#reduce(kernel);
          case "contract":
            return this.#contract(kernel);
          case "accumulate":
            return this.#accumulate(kernel);
        }
      }),
      ...[...program.outputs, ...program.stepSums].flatMap((operand, i) =>
        this.#store(plan.outputAt[i], operand)
      ),
      ...this.#moves(program.next, states.map((i) => program.inputs[i].slot!)),
    ];
    const after = carried.flatMap((slot, member) =>
      this.#store({ group: plan.carry, member }, this.#wholeSlot(slot))
    );
    const instructions = this.#assemble(before, step, after);
    const totalSize = program.totals.reduce((sum, size) => sum + size, 0);
    return { ...this.#shader(instructions, totalSize), instructions, totals: this.#totals, totalSize };
  }

  #shader(
    instructions: Uint32Array,
    totalSize: number,
  ): Omit<WgslLoop, "instructions" | "totals" | "totalSize"> {
    const { samples, lanes, local, spilled, carry, own, rows, outputs, shared } = this.#plan;
    const bindings: Binding[] = [{ name: "instructions", type: "u32", access: "read" }];
    if (shared.constants + shared.row > 0) {
      bindings.push({ name: "constants", type: shared.word, access: "read" });
    }
    const groups = [carry, ...own ? [own] : [], ...rows, ...outputs];
    for (const { name, word, access } of groups) bindings.push({ name, type: word, access });
    if (spilled.size > 0) bindings.push({ name: "spill", type: this.#word, access: "read_write" });
    if (totalSize > 0) bindings.push({ name: "totals", type: "f32", access: "read_write" });
    const params = [
      ...["zero", "batch", "first_sample", "last_sample", "steps", "first_step", "count"],
      ...groups.map(({ name }) => `${name}_offset`),
    ];
    const cases = [...this.#functions.values()].map(({ name, parameters }, i) => {
      const args = Array.from({ length: parameters }, (_, arg) => `instructions[at + ${arg}u]`);
      return `    case ${operations.kernels + i}u: { ${name}(${args.join(", ")}); }`;
    });
    const needsStorageBarrier = spilled.size > 0;
    const code = [
      declare(bindings, params),
      `const samples = ${samples}u;`,
      `const lanes = ${lanes}u;`,
      `const slot_size = ${spilled.size * samples}u;`,
      `const total_size = ${totalSize}u;`,
      `const instruction_words = ${instructions.length}u;`,
      `const end_of_step = ${operations.endOfStep}u;`,
      `const barrier = ${operations.barrier}u;`,
      ...["lane", "own", "valid", "position", "row", "spill_start", "total_start"].map((name) =>
        `var<private> ${name}: u32;`
      ),
      local.size > 0 ? `var<workgroup> slots: array<${this.#word}, ${local.size * samples}>;` : "",
      ...this.#texts,
      "fn row_of(done: u32) -> u32 {",
      `  return ${this.#program.backward ? "params.steps - 1u - done" : "done"};`,
      "}",
      "fn synchronize() {",
      needsStorageBarrier ? "  storageBarrier();" : "",
      "  workgroupBarrier();",
      "}",
      "fn run(operation: u32, at: u32) {",
      "  switch operation {",
      ...cases,
      "    default: {}",
      "  }",
      "}",
      loopSource,
    ].filter((line) => line !== "").join("\n");
    return { code, access: accessOf(bindings), bindings: bindings.map(({ name }) => name), params };
  }

  /** Instructions as words, with barriers where one needs what another invocation wrote, or overwrites what it reads. */
  #assemble(
    before: readonly Instruction[],
    step: readonly Instruction[],
    after: readonly Instruction[],
  ): Uint32Array {
    const waits = new Set<Instruction>();
    if (this.#plan.lanes * this.#plan.samples > 1) {
      let pending: Access[] = [];
      // The step twice: its end meets its beginning.
      for (const instruction of [...before, ...step, ...step, ...after]) {
        const { accesses } = instruction;
        if (
          waits.has(instruction) ||
          accesses.some((access) => pending.some((other) => conflict(access, other)))
        ) {
          waits.add(instruction);
          pending = [];
        }
        pending.push(...accesses);
      }
    }
    const words: number[] = [];
    const emit = (operation: number, args: readonly number[]) =>
      words.push(operation, 2 + args.length, ...args);
    const emitAll = (instructions: readonly Instruction[]) => {
      for (const instruction of instructions) {
        if (waits.has(instruction)) emit(operations.barrier, []);
        emit(instruction.operation, instruction.args);
      }
    };
    emitAll(before);
    const start = words.length;
    emitAll(step);
    emit(operations.endOfStep, [start]);
    emitAll(after);
    return Uint32Array.from(words, (word) => word >>> 0);
  }

  /** Makes a call of the function, which is emitted if no other has the same text. */
  #call({ names, args, lines, accesses }: FunctionText): Instruction[] {
    const text = `(${names.map((name) => `${name}: u32`).join(", ")}) {\n${
      lines.map((line) => `  ${line}`).join("\n")
    }\n}`;
    let known = this.#functions.get(text);
    if (!known) {
      known = { name: `kernel${this.#functions.size}`, parameters: names.length };
      this.#functions.set(text, known);
      this.#texts.push(`fn ${known.name}${text}`);
    }
    const operation = operations.kernels + [...this.#functions.keys()].indexOf(text);
    return [{ operation, args, accesses }];
  }

  #wholeSlot(slot: number): Operand {
    const { size, dtype } = this.#program.slots[slot];
    return { slot, dtype, shape: [size], strides: [1], offset: 0 };
  }

  /** Where a slot lies. */
  #placeOf(slot: number): { space: "slots" | "spill"; offset: number } | undefined {
    const { local, spilled } = this.#plan;
    const offset = local.offsets[slot];
    if (offset !== undefined) return { space: "slots", offset };
    const other = spilled.offsets[slot];
    return other === undefined ? undefined : { space: "spill", offset: other };
  }

  /**
   * Declares an operand in a function.
   *
   * @param strides Along the axes that the function walks.
   * @param shared Whether each element is touched by the invocation that its position on a single axis names.
   */
  #pointer(
    f: FunctionText,
    name: string,
    { slot, shared, dtype, offset }: Operand,
    walk: { shape: readonly number[]; strides: readonly number[] },
    access: { isWrite: boolean; isOwn: boolean },
  ): Pointer {
    const { samples, lanes, shared: constants } = this.#plan;
    const unit = slot === undefined ? 1 : samples;
    const place = slot === undefined ? undefined : this.#placeOf(slot)!;
    const memory = place?.space ?? "constants";
    const word = place ? this.#word : constants.word;
    const base = place ? place.offset + offset : constants.offsets[shared!]! + offset;
    if (place) {
      const ends = walk.shape.map((length, axis) => walk.strides[axis] * (length - 1));
      const start = base + ends.reduce((sum, end) => sum + Math.min(0, end), 0);
      const end = base + ends.reduce((sum, end) => sum + Math.max(0, end), 0) + 1;
      const isOwn = access.isOwn && walk.shape.length === 1;
      const owner = lanes === 1 ? "sample" : isOwn ? `${base} ${walk.strides[0]}` : undefined;
      f.accesses.push({ space: place.space, start, end, isWrite: access.isWrite, owner });
    }
    const startName = `${name}_start`;
    const isRow = shared !== undefined && this.#program.inputs[shared].role === "row";
    const base0 = isRow ? constants.constants + base : base;
    const terms = [f.param(`${name}_base`, base0 * unit)];
    if (memory === "slots") terms.push("own");
    if (memory === "spill") terms.push("spill_start");
    if (isRow) terms.push(`row * ${constants.row}u`);
    f.push(`let ${startName} = ${terms.join(" + ")};`);
    const strides = walk.strides.map((stride, axis) =>
      stride === 0 || walk.shape[axis] === 1 ? undefined : f.param(`${name}_stride${axis}`, stride * unit)
    );
    return {
      start: startName,
      strides,
      at: (coordinates) =>
        [
          startName,
          ...coordinates.flatMap((coordinate, axis) =>
            strides[axis] ? [`${coordinate} * ${strides[axis]}`] : []
          ),
        ].join(" + "),
      read: (address) => fromWord(word, dtype, `${memory}[${address}]`),
      write: (address, value) => `${memory}[${address}] = ${toWord(word, dtype, value)};`,
    };
  }

  /** Statements that find the coordinates of a row-major position, and their names. */
  #coordinates(f: FunctionText, shape: readonly number[], position: string, prefix: string): {
    lines: string[];
    names: string[];
  } {
    const lines: string[] = [];
    const names: string[] = new Array(shape.length);
    let rest = position;
    for (let axis = shape.length - 1; axis > 0; axis--) {
      const length = f.param(`${prefix}_length${axis}`, shape[axis]);
      lines.push(`let ${prefix}_rest${axis} = ${rest} / ${length};`);
      lines.push(`let ${prefix}_${axis} = ${rest} - ${prefix}_rest${axis} * ${length};`);
      names[axis] = `${prefix}_${axis}`;
      rest = `${prefix}_rest${axis}`;
    }
    names[0] = rest;
    return { lines, names };
  }

  #expression(
    root: Scalar,
    inputs: readonly string[],
    prefix: string,
  ): { lines: readonly string[]; result: string } {
    return emitScalar(root, { inputs, index: "0u", zero: "params.zero", prefix });
  }

  #map({ expression, operands, output }: MapKernel): Instruction[] {
    const size = sizeOf(output.shape);
    if (size === 0) return [];
    const walk = collapse(output.shape, [output, ...operands].map((operand) => operand.strides));
    const f = new FunctionText();
    const count = f.param("count", size);
    const pointers = [output, ...operands].map((operand, i) =>
      this.#pointer(f, i === 0 ? "output" : `input${i - 1}`, operand, along(walk, i), {
        isWrite: i === 0,
        isOwn: true,
      })
    );
    const { lines, names } = this.#coordinates(f, walk.shape, "i", "i");
    const inputs = operands.map((_, i) => `x${i}`);
    const value = this.#expression(expression, inputs, "v");
    f.push(
      `for (var i = ${this.#lane}; i < ${count}; i += lanes) {`,
      ...lines.map(indent),
      ...inputs.map((name, i) => indent(`let ${name} = ${pointers[i + 1].read(pointers[i + 1].at(names))};`)),
      ...value.lines.map(indent),
      indent(pointers[0].write(pointers[0].at(names), value.result)),
      "}",
    );
    return this.#call(f);
  }

  /** A constant where it can be one: compilers then see that all invocations do the same. */
  get #lane(): string {
    return this.#plan.lanes === 1 ? "0u" : "lane";
  }

  #reduce({ reduction, axes, shape, expression, operands, output }: ReduceKernel): Instruction[] {
    const size = sizeOf(output.shape);
    if (size === 0) return [];
    const kept = shape.map((_, axis) => axis).filter((axis) => !axes.includes(axis));
    const pick = (values: readonly number[], chosen: readonly number[]) => chosen.map((axis) => values[axis]);
    const outer = collapse(
      pick(shape, kept),
      [output, ...operands].map((operand) => pick(operand.strides, kept)),
    );
    const inner = collapse(pick(shape, axes), operands.map((operand) => pick(operand.strides, axes)));
    const isEmpty = axes.some((axis) => shape[axis] === 0);
    const f = new FunctionText();
    const count = f.param("count", size);
    const target = this.#pointer(f, "output", output, along(outer, 0), { isWrite: true, isOwn: true });
    const sources = operands.map((operand, i) =>
      this.#pointer(f, `input${i}`, operand, {
        shape: [...outer.shape, ...inner.shape],
        strides: [...outer.strides[i + 1], ...inner.strides[i]],
      }, { isWrite: false, isOwn: false })
    );
    const position = this.#coordinates(f, outer.shape, "i", "i");
    const turns = inner.shape.map((length, axis) => f.param(`turns${axis}`, isEmpty ? 0 : length));
    const inputs = operands.map((_, i) => `x${i}`);
    const value = this.#expression(expression, inputs, "v");
    const combine = { sum: add, max, min }[reduction];
    const [a, b] = [0, 1].map((value): Scalar => ({ op: "input", type: output.dtype, args: [], value }));
    const combined = this.#expression(combine(a, b), ["total", value.result], "w");
    const start: Scalar = {
      op: "constant",
      type: output.dtype,
      args: [],
      value: { sum: 0, max: -Infinity, min: Infinity }[reduction],
    };
    const coordinates = [...position.names, ...inner.shape.map((_, axis) => `j${axis}`)];
    f.push(
      `for (var i = ${this.#lane}; i < ${count}; i += lanes) {`,
      ...position.lines.map(indent),
      indent(`var total = ${this.#expression(start, [], "s").result};`),
      ...turns.map((turn, axis) => indent(`for (var j${axis} = 0u; j${axis} < ${turn}; j${axis}++) {`)),
      ...inputs.map((name, i) => indent(`let ${name} = ${sources[i].read(sources[i].at(coordinates))};`)),
      ...value.lines.map(indent),
      ...combined.lines.map(indent),
      indent(`total = ${combined.result};`),
      ...turns.map(() => indent("}")),
      indent(target.write(target.at(position.names), "total")),
      "}",
    );
    return this.#call(f);
  }

  #contract({ a, b, output }: ContractKernel): Instruction[] {
    const { lanes } = this.#plan;
    const size = sizeOf(output.shape);
    if (size === 0) return [];
    const rank = output.shape.length;
    const [rowAxis, columnAxis] = [rank - 2, rank - 1];
    const spread = (operand: Operand, axis: number) =>
      operand.strides.map((stride, i) => i === axis ? 0 : stride);
    const walk = collapse(output.shape, [output.strides, spread(a, columnAxis), spread(b, rowAxis)]);
    const depth = a.shape[columnAxis];
    const axes = walk.shape.length;
    const length = walk.shape[axes - 1];
    const isFlat = axes === 1;
    // With several axes and lanes the elements are numbered through, so that no lane is idle.
    const width = isFlat || lanes === 1 ? Math.max(1, Math.min(widestTile, Math.floor(length / lanes))) : 1;
    const isExact = length % (width * lanes) === 0;

    const f = new FunctionText();
    const sides = (operand: Operand, i: number, depthStride: number) => ({
      shape: [...walk.shape, depth],
      strides: [...walk.strides[i], depthStride],
    });
    const target = this.#pointer(f, "output", output, along(walk, 0), { isWrite: true, isOwn: true });
    const reading = { isWrite: false, isOwn: false };
    const left = this.#pointer(f, "a", a, sides(a, 1, a.strides[columnAxis]), reading);
    const right = this.#pointer(f, "b", b, sides(b, 2, b.strides[rowAxis]), reading);
    const terms = f.param("terms", depth);
    const tile = Array.from({ length: width }, (_, t) => t);

    const columns = (first: string) => [
      ...tile.map((t) => {
        const column = t === 0 ? first : `${first} + ${t * lanes}u`;
        return `let j${t} = ${t > 0 && !isExact ? `min(${column}, length - 1u)` : column};`;
      }),
    ];
    const body = (outerNames: readonly string[], last: (t: number) => string) => {
      /** Reads of one side: one where the column makes no difference. */
      const load = (name: string, side: Pointer) => {
        const moves = side.strides[axes - 1] !== undefined;
        const count = moves ? tile : tile.slice(0, 1);
        const step = side.strides[axes];
        return {
          starts: count.map((t) => `var ${name}${t} = ${side.at([...outerNames, last(t)])};`),
          reads: count.map((t) => `let ${name}_value${t} = ${side.read(`${name}${t}`)};`),
          steps: step ? count.map((t) => `${name}${t} += ${step};`) : [],
          value: (t: number) => `${name}_value${moves ? t : 0}`,
        };
      };
      const [x, y] = [load("a", left), load("b", right)];
      return [
        ...x.starts,
        ...y.starts,
        ...tile.map((t) => `var sum${t} = 0.0;`),
        `for (var k = 0u; k < ${terms}; k++) {`,
        ...[...x.reads, ...y.reads].map(indent),
        ...tile.map((t) => indent(`sum${t} = fma(${x.value(t)}, ${y.value(t)}, sum${t});`)),
        ...[...x.steps, ...y.steps].map(indent),
        "}",
        ...tile.map((t) => {
          const store = target.write(target.at([...outerNames, last(t)]), `sum${t}`);
          return isExact || t === 0 || width === 1 ? store : `if (j0 + ${t * lanes}u < length) { ${store} }`;
        }),
      ];
    };
    if (isFlat || lanes === 1) {
      f.param("length", length);
      const outer = walk.shape.slice(0, -1);
      const outerNames = outer.map((_, axis) => `o${axis}`);
      const bounds = outer.map((size, axis) => f.param(`size${axis}`, size));
      f.push(
        ...bounds.map((bound, axis) => `for (var o${axis} = 0u; o${axis} < ${bound}; o${axis}++) {`),
        `for (var j = ${this.#lane}; j < length; j += ${width * lanes}u) {`,
        ...[...columns("j"), ...body(outerNames, (t) => `j${t}`)].map(indent),
        "}",
        ...bounds.map(() => "}"),
      );
    } else {
      const count = f.param("count", size);
      const { lines, names } = this.#coordinates(f, walk.shape, "i", "i");
      f.push(
        `for (var i = ${this.#lane}; i < ${count}; i += lanes) {`,
        ...[...lines, ...body(names.slice(0, -1), () => names.at(-1)!)].map(indent),
        "}",
      );
    }
    return this.#call(f);
  }

  /** Every element of a total belongs to one invocation, which adds up all samples of the workgroup. */
  #accumulate({ a, b, total }: AccumulateKernel): Instruction[] {
    const { samples, lanes } = this.#plan;
    const { offset, rows, columns } = this.#totals[total];
    const [inner] = a.shape;
    if (rows * columns * inner === 0) return [];
    const invocations = samples * lanes;
    const across = Math.min(invocations, 2 ** Math.ceil(Math.log2(columns)));
    const down = invocations / across;
    const f = new FunctionText();
    f.param("total", offset);
    f.param("rows", rows);
    f.param("columns", columns);
    f.param("inner", inner);
    const operand = (name: string, operand: Operand, length: number) => {
      const { space, offset } = this.#placeOf(operand.slot!)!;
      const start = offset + operand.offset;
      const end = start + operand.strides[0] * (inner - 1) + operand.strides[1] * (length - 1) + 1;
      f.accesses.push({ space, start, end, isWrite: false });
      f.param(`${name}_base`, start * samples);
      f.param(`${name}_inner`, operand.strides[0] * samples);
      f.param(`${name}_stride`, operand.strides[1] * samples);
      f.push(`let ${name}_start = ${name}_base${space === "spill" ? " + spill_start - own" : ""};`);
      return (address: string) => fromWord(this.#word, "float32", `${space}[${address}]`);
    };
    const left = operand("a", a, rows);
    const right = operand("b", b, columns);
    f.push(
      "let local = lane * samples + own;",
      `for (var i = local / ${across}u; i < rows; i += ${down}u) {`,
      `  for (var j = local % ${across}u; j < columns; j += ${across}u) {`,
      "    let at = total_start + total + i * columns + j;",
      "    var sum = totals[at];",
      "    for (var r = 0u; r < inner; r++) {",
      "      let x = a_start + i * a_stride + r * a_inner;",
      "      let y = b_start + j * b_stride + r * b_inner;",
      "      for (var s = 0u; s < valid; s++) {",
      `        sum = fma(${left("x + s")}, ${right("y + s")}, sum);`,
      "      }",
      "    }",
      "    totals[at] = sum;",
      "  }",
      "}",
    );
    return this.#call(f);
  }

  #moves(next: readonly Operand[], slots: readonly number[]): Instruction[] {
    return next.flatMap((operand, i) => {
      if (operand.slot === slots[i]) return [];
      const size = sizeOf(operand.shape);
      const flat = { ...operand, shape: [size], strides: [1] };
      return this.#map({
        kind: "map",
        expression: instantiate(identity, [operand.dtype]),
        operands: [flat],
        output: this.#wholeSlot(slots[i]),
      });
    });
  }

  /** Copies a sample's elements of an array into a slot. */
  #load({ group, member }: Place, slot: number): Instruction[] {
    const { size, dtype } = group.members[member];
    if (size === 0 || !this.#placeOf(slot)) return [];
    const f = new FunctionText();
    const from = this.#member(f, group, member);
    const target = this.#pointer(f, "slot", this.#wholeSlot(slot), { shape: [size], strides: [1] }, {
      isWrite: true,
      isOwn: true,
    });
    const value = fromWord(group.word, dtype, `${group.name}[from + i]`);
    f.push(
      from,
      `for (var i = ${this.#lane}; i < size; i += lanes) {`,
      indent(target.write(target.at(["i"]), value)),
      "}",
    );
    return this.#call(f);
  }

  /** Copies a slot without gaps to a sample's elements of an array. */
  #store({ group, member }: Place, operand: Operand): Instruction[] {
    const { size, dtype } = group.members[member];
    if (size === 0) return [];
    const f = new FunctionText();
    const to = this.#member(f, group, member);
    const source = this.#pointer(f, "slot", operand, { shape: [size], strides: [1] }, {
      isWrite: false,
      isOwn: true,
    });
    f.push(
      to,
      "if (own < valid) {",
      `  for (var i = ${this.#lane}; i < size; i += lanes) {`,
      `    ${group.name}[from + i] = ${toWord(group.word, dtype, source.read(source.at(["i"])))};`,
      "  }",
      "}",
    );
    return this.#call(f);
  }

  /** A statement that finds where a sample's elements of an array begin. */
  #member(f: FunctionText, { name, perStep, members }: Group, member: number): string {
    f.param("size", members[member].size);
    f.param("before", members.slice(0, member).reduce((sum, { size }) => sum + size, 0));
    const [volume, index] = perStep
      ? ["params.steps * params.batch", "(row * params.batch + position)"]
      : ["params.batch", "position"];
    return `let from = params.${name}_offset + before * ${volume} + ${index} * size;`;
  }
}

function indent(line: string): string {
  return `  ${line}`;
}

function along(walk: Walk, view: number): { shape: readonly number[]; strides: readonly number[] } {
  return { shape: walk.shape, strides: walk.strides[view] };
}

function conflict(a: Access, b: Access): boolean {
  if (!a.isWrite && !b.isWrite || a.space !== b.space) return false;
  if (a.owner !== undefined && a.owner === b.owner) return false;
  return a.start < b.end && b.start < a.end;
}

/** A word of memory as a value of a dtype. A bool is one or zero, whatever the word. */
function fromWord(word: Word, dtype: DType, text: string): string {
  if (dtype === "bool") return `(${text} != ${word === "f32" ? "0.0" : "0u"})`;
  const type = valueType(dtype);
  return type === word ? text : `bitcast<${type}>(${text})`;
}

function toWord(word: Word, dtype: DType, value: string): string {
  if (dtype === "bool") return word === "f32" ? `select(0.0, 1.0, ${value})` : `select(0u, 1u, ${value})`;
  return valueType(dtype) === word ? value : `bitcast<${word}>(${value})`;
}
