/**
 * A small assembler of WebAssembly binaries. A kernel is written as calls that append instructions to a growing buffer,
 * so that a body of 100,000 instructions takes milliseconds; instructions have their names from the text format.
 *
 * @example
 * ```ts
 * const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536, shared: true });
 * const module = new ModuleBuilder();
 * module.importMemory("env", "memory");
 * const sum = module.addFunction("sum", ["i32", "i32"], ["f32"]); // of n floats at an address
 * const [address, n] = sum.params;
 * const total = sum.local("f32");
 * sum.while(() => sum.get(n), () => {
 *   sum.set(total, () => sum.op("f32.add", total, () => sum.load("f32.load", address)));
 *   sum.increment(address, 4);
 *   sum.increment(n, -1);
 * });
 * sum.get(total);
 * const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.toBytes()), { env: { memory } });
 * ```
 */
import { type Opcode, opcodes } from "./opcodes.ts";

export type { Opcode } from "./opcodes.ts";

/** The types of values on the stack. */
export type ValueType = "i32" | "i64" | "f32" | "f64" | "v128";

const typeCodes: Record<ValueType, number> = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b };

/** A growing sequence of bytes in the encodings that the binary format uses. */
class Bytes {
  #bytes = new Uint8Array(256);
  length = 0;

  #reserve(count: number): void {
    if (this.length + count <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.length + count));
    grown.set(this.#bytes);
    this.#bytes = grown;
  }

  byte(value: number): void {
    if (this.length === this.#bytes.length) this.#reserve(1);
    this.#bytes[this.length++] = value;
  }

  append(values: ArrayLike<number>): void {
    this.#reserve(values.length);
    this.#bytes.set(values, this.length);
    this.length += values.length;
  }

  unsigned(value: number): void {
    for (; value >= 0x80; value = Math.floor(value / 0x80)) this.byte(value % 0x80 | 0x80);
    this.byte(value);
  }

  /** A signed number of 32 bits; larger unsigned ones wrap. */
  signed(value: number): void {
    value |= 0;
    for (; value < -0x40 || value >= 0x40; value >>= 7) this.byte(value & 0x7f | 0x80);
    this.byte(value & 0x7f);
  }

  /** An unsigned number in five bytes, so that it can be changed later. */
  padded(value: number, position = this.length): void {
    if (position === this.length) {
      this.#reserve(5);
      this.length += 5;
    }
    for (let i = 0; i < 4; i++, value >>>= 7) this.#bytes[position + i] = value & 0x7f | 0x80;
    this.#bytes[position + 4] = value;
  }

  name(text: string): void {
    const utf8 = new TextEncoder().encode(text);
    this.unsigned(utf8.length);
    this.append(utf8);
  }

  view(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }
}

/** A parameter or a local variable of a function. */
export class Local {
  constructor(readonly index: number, readonly type: ValueType) {}
}

/** A function that can be called: imported or of the same module. */
export interface Callable {
  /** Its place in the function index space, known when the module is complete. */
  index: number;
}

/** A place to branch to: the end of a block or the start of a loop. */
export type Label = number;

/** Operand of an instruction: a variable, a constant of type i32, or code that pushes it. */
export type Operand = Local | number | (() => void);

const scratch = new DataView(new ArrayBuffer(16));
const scratchBytes = new Uint8Array(scratch.buffer);

/** Appends instructions to the body of one function. */
export class FunctionBuilder implements Callable {
  index = -1;
  readonly params: readonly Local[];
  readonly #locals: ValueType[] = [];
  readonly #code = new Bytes();
  readonly #calls: { position: number; callee: Callable }[] = [];
  #depth = 0;

  constructor(readonly type: number, params: readonly ValueType[]) {
    this.params = params.map((type, i) => new Local(i, type));
  }

  /** A new variable, zero at first. */
  local(type: ValueType): Local {
    this.#locals.push(type);
    return new Local(this.params.length + this.#locals.length - 1, type);
  }

  /** New variables of one type. */
  locals(type: ValueType, count: number): Local[] {
    return Array.from({ length: count }, () => this.local(type));
  }

  #push(operands: readonly Operand[]): void {
    for (const operand of operands) this.push(operand);
  }

  /** Pushes an operand. */
  push(operand: Operand): void {
    if (operand instanceof Local) this.get(operand);
    else if (typeof operand === "number") this.i32(operand);
    else operand();
  }

  #opcode(name: Opcode): void {
    const code = opcodes[name];
    if (code > 0xff) {
      this.#code.byte(code >> 16);
      this.#code.unsigned(code & 0xffff);
    } else this.#code.byte(code);
  }

  /** An instruction without immediates; operands that are given are pushed first. */
  op(name: Opcode, ...operands: Operand[]): void {
    this.#push(operands);
    this.#opcode(name);
  }

  /** A load, from an address plus a constant offset in bytes. */
  load(name: Opcode, address: Operand, offset = 0): void {
    this.push(address);
    this.#memoryOp(name, offset);
  }

  /** A store of a value. */
  store(name: Opcode, address: Operand, value: Operand, offset = 0): void {
    this.push(address);
    this.push(value);
    this.#memoryOp(name, offset);
  }

  /** `v128.load32_lane`, `v128.store64_lane` and their kind. */
  laneMemory(name: Opcode, lane: number, address: Operand, vector: Operand, offset = 0): void {
    this.push(address);
    this.push(vector);
    this.#memoryOp(name, offset);
    this.#code.byte(lane);
  }

  #memoryOp(name: Opcode, offset: number): void {
    this.#opcode(name);
    // The alignment is a hint, which no engine takes; only atomics must state theirs.
    this.#code.byte(opcodes[name] >= 0xfe0000 ? 2 : 0);
    this.#code.unsigned(offset);
  }

  /** `extract_lane` and `replace_lane`. */
  lane(name: Opcode, lane: number, ...operands: Operand[]): void {
    this.#push(operands);
    this.#opcode(name);
    this.#code.byte(lane);
  }

  /** Picks four 32-bit lanes: 0 to 3 from the first vector, 4 to 7 from the second. */
  shuffle32(lanes: readonly [number, number, number, number], ...operands: Operand[]): void {
    this.#push(operands);
    this.#opcode("i8x16.shuffle");
    for (const lane of lanes) for (let byte = 0; byte < 4; byte++) this.#code.byte(4 * lane + byte);
  }

  /** Picks two 64-bit lanes: 0 and 1 from the first vector, 2 and 3 from the second. */
  shuffle64([a, b]: readonly [number, number], ...operands: Operand[]): void {
    this.shuffle32([2 * a, 2 * a + 1, 2 * b, 2 * b + 1], ...operands);
  }

  i32(value: number): void {
    this.#code.byte(0x41);
    this.#code.signed(value);
  }
  f32(value: number): void {
    this.#code.byte(0x43);
    scratch.setFloat32(0, value, true);
    this.#code.append(scratchBytes.subarray(0, 4));
  }
  f64(value: number): void {
    this.#code.byte(0x44);
    scratch.setFloat64(0, value, true);
    this.#code.append(scratchBytes.subarray(0, 8));
  }
  /** Four integers of 32 bits. */
  i32x4(a: number, b = a, c = a, d = a): void {
    this.#opcode("v128.const");
    [a, b, c, d].forEach((value, lane) => scratch.setInt32(4 * lane, value, true));
    this.#code.append(scratchBytes);
  }
  /** One float in four lanes. */
  f32x4(value: number): void {
    this.#opcode("v128.const");
    for (let lane = 0; lane < 4; lane++) scratch.setFloat32(4 * lane, value, true);
    this.#code.append(scratchBytes);
  }
  /** One float in two lanes. */
  f64x2(value: number): void {
    this.#opcode("v128.const");
    for (let lane = 0; lane < 2; lane++) scratch.setFloat64(8 * lane, value, true);
    this.#code.append(scratchBytes);
  }

  get(local: Local): void {
    this.#code.byte(0x20);
    this.#code.unsigned(local.index);
  }
  /** Stores what is given, or what was pushed last. */
  set(local: Local, value?: Operand): void {
    if (value !== undefined) this.push(value);
    this.#code.byte(0x21);
    this.#code.unsigned(local.index);
  }
  /** As {@linkcode set}, and leaves the value. */
  tee(local: Local, value?: Operand): void {
    if (value !== undefined) this.push(value);
    this.#code.byte(0x22);
    this.#code.unsigned(local.index);
  }
  /** Adds to an i32 variable. */
  increment(local: Local, by: Operand): void {
    this.set(local, () => this.op("i32.add", local, by));
  }
  /** Pushes the smaller of two variables, unsigned. */
  smaller(a: Local, b: Local): void {
    this.op("select", a, b, () => this.op("i32.lt_u", a, b));
  }

  call(callee: Callable, ...operands: Operand[]): void {
    this.#push(operands);
    this.#code.byte(0x10);
    this.#calls.push({ position: this.#code.length, callee });
    this.#code.padded(0);
  }

  #structure(opcode: number, result: ValueType | undefined, body: (label: Label) => void): void {
    this.#code.byte(opcode);
    this.#code.byte(result ? typeCodes[result] : 0x40);
    body(++this.#depth);
    this.#depth--;
    this.#code.byte(0x0b);
  }

  /** A body whose label is its end. */
  block(body: (end: Label) => void): void {
    this.#structure(0x02, undefined, body);
  }
  /** A body whose label is its start: it runs again only when it branches there. */
  loop(body: (again: Label) => void): void {
    this.#structure(0x03, undefined, body);
  }
  /** Runs `then` if the condition is not zero; both leave a value of type `result`, if any. */
  if(condition: Operand, then: () => void, otherwise?: () => void, result?: ValueType): void {
    this.push(condition);
    this.#structure(0x04, result, () => {
      then();
      if (!otherwise) return;
      this.#code.byte(0x05);
      otherwise();
    });
  }
  /** Runs the body as long as the condition is not zero. */
  while(condition: Operand, body: () => void): void {
    this.block((end) =>
      this.loop((again) => {
        this.op("i32.eqz", condition);
        this.branchIf(end);
        body();
        this.branch(again);
      })
    );
  }
  /** Runs the body at least once, and again as long as the condition is not zero. */
  doWhile(body: () => void, condition: Operand): void {
    this.loop((again) => {
      body();
      this.push(condition);
      this.branchIf(again);
    });
  }

  branch(label: Label): void {
    this.#code.byte(0x0c);
    this.#code.unsigned(this.#depth - label);
  }
  /** Branches if what was pushed last, or is given, is not zero. */
  branchIf(label: Label, condition?: Operand): void {
    if (condition !== undefined) this.push(condition);
    this.#code.byte(0x0d);
    this.#code.unsigned(this.#depth - label);
  }

  /** Appends the complete body to a code section. */
  finish(section: { append(values: ArrayLike<number>): void; unsigned(value: number): void }): void {
    for (const { position, callee } of this.#calls) this.#code.padded(callee.index, position);
    const header = new Bytes();
    const groups: [number, ValueType][] = [];
    for (const type of this.#locals) {
      const last = groups.at(-1);
      if (last && last[1] === type) last[0]++;
      else groups.push([1, type]);
    }
    header.unsigned(groups.length);
    for (const [count, type] of groups) {
      header.unsigned(count);
      header.byte(typeCodes[type]);
    }
    section.unsigned(header.length + this.#code.length + 1);
    section.append(header.view());
    section.append(this.#code.view());
    section.append([0x0b]);
  }
}

interface Import extends Callable {
  readonly module: string;
  readonly name: string;
  readonly type: number;
}

/** A module in the making: imports, types and functions, of which every one is exported under its name. */
export class ModuleBuilder {
  readonly #types: string[] = [];
  readonly #typeBytes: Uint8Array[] = [];
  readonly #imports = new Map<string, Import>();
  readonly #functions: { name: string; builder: FunctionBuilder }[] = [];
  #memory: { module: string; name: string; maximumPages: number } | undefined;

  #type(params: readonly ValueType[], results: readonly ValueType[]): number {
    const key = `${params}:${results}`;
    const known = this.#types.indexOf(key);
    if (known >= 0) return known;
    const bytes = new Bytes();
    bytes.byte(0x60);
    for (const types of [params, results]) {
      bytes.unsigned(types.length);
      for (const type of types) bytes.byte(typeCodes[type]);
    }
    this.#typeBytes.push(bytes.view());
    return this.#types.push(key) - 1;
  }

  /** Takes a shared memory of one page at least. `maximumPages` must be no less than the memory's own maximum. */
  importMemory(module: string, name: string, maximumPages = 65536): void {
    this.#memory = { module, name, maximumPages };
  }

  /** Takes a function; a second import of the same one is the first. */
  importFunction(
    module: string,
    name: string,
    params: readonly ValueType[],
    results: readonly ValueType[],
  ): Callable {
    const key = `${module}.${name}`;
    const known = this.#imports.get(key);
    if (known) return known;
    const added = { module, name, type: this.#type(params, results), index: this.#imports.size };
    this.#imports.set(key, added);
    return added;
  }

  /** Starts a function that is exported under a name. */
  addFunction(
    name: string,
    params: readonly ValueType[],
    results: readonly ValueType[] = [],
  ): FunctionBuilder {
    const builder = new FunctionBuilder(this.#type(params, results), params);
    this.#functions.push({ name, builder });
    return builder;
  }

  /** The complete binary. */
  toBytes(): Uint8Array<ArrayBuffer> {
    const output = new Bytes();
    output.append([0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]);
    const section = (id: number, fill: (bytes: Bytes) => void) => {
      const bytes = new Bytes();
      fill(bytes);
      output.byte(id);
      output.unsigned(bytes.length);
      output.append(bytes.view());
    };
    this.#functions.forEach(({ builder }, i) => builder.index = this.#imports.size + i);
    section(1, (bytes) => {
      bytes.unsigned(this.#typeBytes.length);
      for (const type of this.#typeBytes) bytes.append(type);
    });
    section(2, (bytes) => {
      bytes.unsigned(this.#imports.size + (this.#memory ? 1 : 0));
      for (const { module, name, type } of this.#imports.values()) {
        bytes.name(module);
        bytes.name(name);
        bytes.byte(0x00);
        bytes.unsigned(type);
      }
      if (!this.#memory) return;
      bytes.name(this.#memory.module);
      bytes.name(this.#memory.name);
      bytes.append([0x02, 0x03]); // A memory, shared, with a maximum.
      // An engine that checks addresses itself, as Deno's does, checks constant offsets below the minimum but once.
      bytes.unsigned(1);
      bytes.unsigned(this.#memory.maximumPages);
    });
    section(3, (bytes) => {
      bytes.unsigned(this.#functions.length);
      for (const { builder } of this.#functions) bytes.unsigned(builder.type);
    });
    section(7, (bytes) => {
      bytes.unsigned(this.#functions.length);
      for (const { name, builder } of this.#functions) {
        bytes.name(name);
        bytes.byte(0x00);
        bytes.unsigned(builder.index);
      }
    });
    section(10, (bytes) => {
      bytes.unsigned(this.#functions.length);
      for (const { builder } of this.#functions) builder.finish(bytes);
    });
    return output.view().slice() as Uint8Array<ArrayBuffer>;
  }
}

/** Whether the engine has relaxed SIMD, and with it a fused multiply-add. */
export const hasRelaxedSimd: boolean = (() => {
  const module = new ModuleBuilder();
  const f = module.addFunction("test", ["v128"], ["v128"]);
  const [x] = f.params;
  f.op("f32x4.relaxed_madd", x, x, x);
  return WebAssembly.validate(module.toBytes());
})();
