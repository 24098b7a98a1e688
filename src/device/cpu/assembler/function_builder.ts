/** Assembler of one function of a WebAssembly module. */
import { Bytes } from "./bytes.ts";
import { type Opcode, opcodes32, opcodes64 } from "./opcodes.ts";

/**
 * Types of values on the stack. Addresses, and distances in bytes, are i64 or i32, depending on the memory.
 */
export type ValueType = "i32" | "i64" | "f32" | "f64" | "v128" | "address";

const typeCodes: Record<Exclude<ValueType, "address">, number> = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  f64: 0x7c,
  v128: 0x7b,
};

/** Code of a type in the binary format. @param is64 Whether addresses have 64 bits. */
export function typeCode(type: ValueType, is64: boolean): number {
  return typeCodes[type === "address" ? is64 ? "i64" : "i32" : type];
}

/** A parameter or a local variable of a function. */
export class Local {
  constructor(readonly index: number, readonly type: ValueType) {}
}

/** A function that can be called: an imported one, or one of the same module. */
export interface Callable {
  /** Index of the function. Known when the module is complete. */
  index: number;
}

/** A branch target: the end of a block or the start of a loop. */
type Label = number;

/** Operand of an instruction: a variable, a constant of type i32 or address, or code that pushes a value. */
export type Operand = Local | number | (() => void);

const scratch = new DataView(new ArrayBuffer(16));
const scratchBytes = new Uint8Array(scratch.buffer);

/** Appends instructions to the body of one function. */
export class FunctionBuilder implements Callable {
  index = -1;
  readonly params: readonly Local[];
  readonly #locals: ValueType[] = [];
  /** Values of `storeVectors`, before they are stored. */
  readonly #computed: Local[] = [];
  readonly #code = new Bytes();
  readonly #calls: { position: number; callee: Callable }[] = [];
  readonly #is64: boolean;
  readonly #delaysArithmetic: boolean;
  readonly #opcodes: Readonly<Record<Opcode, number>>;
  #depth = 0;
  /** Whether there are sums that the compiler may still delay. */
  #hasSums = false;
  /** End of the innermost loop. */
  #loopEnd: Label | undefined;
  /** A number that is never negative, which the compiler does not know: the size of the memory in pages. */
  #pages: Local | undefined;
  /** Number of branches that are never taken. */
  #untaken = 0;

  /**
   * @param is64 Whether addresses have 64 bits.
   * @param delaysArithmetic See `Platform.delaysArithmetic`.
   */
  constructor(
    readonly type: number,
    params: readonly ValueType[],
    is64: boolean,
    delaysArithmetic: boolean,
  ) {
    this.#is64 = is64;
    this.#delaysArithmetic = delaysArithmetic;
    this.#opcodes = is64 ? opcodes64 : opcodes32;
    this.params = params.map((type, i) => new Local(i, type));
  }

  /** A new variable. Its first value is zero. */
  local(type: ValueType): Local {
    this.#locals.push(type);
    return new Local(this.params.length + this.#locals.length - 1, type);
  }

  /** New variables of one type. */
  locals(type: ValueType, count: number): Local[] {
    return Array.from({ length: count }, () => this.local(type));
  }

  #push(operands: readonly Operand[], type?: ValueType): void {
    for (let i = 0; i < operands.length; i++) this.push(operands[i], type);
  }

  /**
   * Pushes an operand. Constants and variables of type i32 are converted to addresses where the type requires
   * it.
   */
  push(operand: Operand, type?: ValueType): void {
    const wantsAddress = type === "address";
    if (operand instanceof Local) {
      this.get(operand);
      if (this.#is64 && wantsAddress && operand.type === "i32") this.#opcode("i64.extend_i32_s");
    } else if (typeof operand !== "number") operand();
    else if (wantsAddress) this.address(operand);
    else this.i32(operand);
  }

  #opcode(name: Opcode): void {
    const code = this.#opcodes[name];
    if (code > 0xff) {
      this.#code.byte(code >> 16);
      this.#code.unsigned(code & 0xffff);
    } else this.#code.byte(code);
  }

  /** An instruction without immediates. Operands are pushed first. */
  op(name: Opcode, ...operands: Operand[]): void {
    this.#push(operands, name.startsWith("address.") ? "address" : undefined);
    this.#opcode(name);
  }

  /** Pushes a signed i32 as a distance. */
  distance(value: Operand): void {
    this.push(value);
    if (this.#is64) this.#opcode("i64.extend_i32_s");
  }
  /** Pushes an address. The operand counts 32-bit words, so that it reaches the entire memory. */
  addressOfWord(word: Operand): void {
    this.push(word);
    if (this.#is64) this.#opcode("i64.extend_i32_u");
    this.op("address.shl", 2);
  }
  /** Loads an address that counts 32-bit words. */
  loadAddress(at: Operand, offset: number): void {
    this.addressOfWord(() => this.load("i32.load", at, offset));
  }
  /** Loads a signed distance that counts 32-bit words. The result is in bytes. */
  loadDistance(at: Operand, offset: number): void {
    this.op("address.shl", () => this.distance(() => this.load("i32.load", at, offset)), 2);
  }

  /** A load, from an address plus a constant offset in bytes. */
  load(name: Opcode, address: Operand, offset = 0): void {
    this.#finishSums();
    this.push(address);
    this.#memoryOp(name, offset);
  }

  /** Notes that the value on the stack is a sum which remains in a register during a loop. */
  noteSum(): void {
    this.#hasSums = this.#delaysArithmetic && this.#loopEnd !== undefined;
  }

  /**
   * Ensures that the sums so far are computed before what follows, by a branch out of the loop, which is never taken. The code after
   * the loop needs the sums. Each branch has another condition, because the compiler removes repeated conditions.
   */
  #finishSums(): void {
    if (!this.#hasSums) return;
    this.#hasSums = false;
    this.#pages ??= this.local("address");
    this.branchIf(this.#loopEnd!, () => this.op("address.eq", this.#pages!, -(++this.#untaken)));
  }

  /** A store of a value. */
  store(name: Opcode, address: Operand, value: Operand, offset = 0): void {
    this.push(address);
    this.push(value);
    this.#memoryOp(name, offset);
  }

  /**
   * Stores vectors one after another. All vectors are computed before the first store, because V8 can only
   * combine two vectors if no store is between their computations.
   */
  storeVectors(address: Operand, vectors: readonly Operand[], offset = 0): void {
    const computed = vectors.map((vector, i) => {
      if (vector instanceof Local) return vector;
      this.set(this.#computed[i] ??= this.local("v128"), vector);
      return this.#computed[i];
    });
    computed.forEach((vector, i) => this.store("v128.store", address, vector, offset + 16 * i));
  }

  /** `v128.load32_lane`, `v128.store64_lane` and similar instructions. */
  laneMemory(name: Opcode, lane: number, address: Operand, vector: Operand, offset = 0): void {
    this.push(address);
    this.push(vector);
    this.#memoryOp(name, offset);
    this.#code.byte(lane);
  }

  #memoryOp(name: Opcode, offset: number): void {
    this.#opcode(name);
    // Engines ignore the alignment.
    this.#code.byte(0);
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

  address(value: number): void {
    this.#code.byte(this.#is64 ? 0x42 : 0x41);
    this.#code.signed(value, this.#is64);
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
  /** A constant vector of four 32-bit integers. */
  i32x4(a: number, b = a, c = a, d = a): void {
    this.#opcode("v128.const");
    [a, b, c, d].forEach((value, lane) => scratch.setInt32(4 * lane, value, true));
    this.#code.append(scratchBytes);
  }
  /** A constant vector with the same float32 in all four lanes. */
  f32x4(value: number): void {
    this.#opcode("v128.const");
    for (let lane = 0; lane < 4; lane++) scratch.setFloat32(4 * lane, value, true);
    this.#code.append(scratchBytes);
  }
  /** A constant vector with the same float64 in both lanes. */
  f64x2(value: number): void {
    this.#opcode("v128.const");
    for (let lane = 0; lane < 2; lane++) scratch.setFloat64(8 * lane, value, true);
    this.#code.append(scratchBytes);
  }

  get(local: Local): void {
    this.#code.byte(0x20);
    this.#code.unsigned(local.index);
  }
  /** Stores a value, or the top of the stack. */
  set(local: Local, value?: Operand): void {
    if (value !== undefined) this.push(value, local.type);
    this.#code.byte(0x21);
    this.#code.unsigned(local.index);
  }
  /** As {@linkcode set}, but leaves the value on the stack. */
  tee(local: Local, value?: Operand): void {
    if (value !== undefined) this.push(value, local.type);
    this.#code.byte(0x22);
    this.#code.unsigned(local.index);
  }
  /** Adds to an i32 or an address. */
  increment(local: Local, by: Operand): void {
    this.set(local, () => this.op(local.type === "address" ? "address.add" : "i32.add", local, by));
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
    this.#code.byte(result ? typeCode(result, this.#is64) : 0x40);
    body(++this.#depth);
    this.#depth--;
    this.#code.byte(0x0b);
  }

  /** A body whose label is at its end. */
  block(body: (end: Label) => void): void {
    this.#structure(0x02, undefined, body);
  }
  /** A body whose label is at its start: it repeats only if it branches. */
  loop(body: (again: Label) => void): void {
    if (!this.#delaysArithmetic) return this.#structure(0x03, undefined, body);
    const outer = this.#loopEnd;
    this.block((end) => {
      this.#loopEnd = end;
      this.#structure(0x03, undefined, body);
    });
    this.#loopEnd = outer;
    this.#hasSums = false;
  }
  /** Runs `then` if the condition is not zero. Both branches leave a value of type `result`, if given. */
  if(condition: Operand, then: () => void, otherwise?: () => void, result?: ValueType): void {
    this.push(condition);
    this.#structure(0x04, result, () => {
      then();
      if (!otherwise) return;
      this.#code.byte(0x05);
      otherwise();
    });
  }
  /** Runs the body while the condition is not zero. */
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
  /** Runs the body at least once, and repeats it while the condition is not zero. */
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
  /** Branches if a value, or the top of the stack, is not zero. */
  branchIf(label: Label, condition?: Operand): void {
    if (condition !== undefined) this.push(condition);
    this.#code.byte(0x0d);
    this.#code.unsigned(this.#depth - label);
  }

  /** Appends the complete body to a code section. */
  finish(section: Bytes): void {
    for (const { position, callee } of this.#calls) this.#code.padded(callee.index, position);
    const header = new Bytes();
    const groups: [number, ValueType][] = [];
    this.#locals.forEach((type) => {
      const last = groups.at(-1);
      if (last && last[1] === type) last[0]++;
      else groups.push([1, type]);
    });
    header.unsigned(groups.length);
    for (const [count, type] of groups) {
      header.unsigned(count);
      header.byte(typeCode(type, this.#is64));
    }
    if (this.#pages) {
      header.append([0x3f, 0]); // memory.size
      header.byte(0x21); // local.set
      header.unsigned(this.#pages.index);
    }
    section.unsigned(header.length + this.#code.length + 1);
    section.append(header.view());
    section.append(this.#code.view());
    section.append([0x0b]);
  }
}
