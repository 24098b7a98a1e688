/**
 * A small assembler of WebAssembly binaries. A kernel is written as calls that append instructions to a growing buffer,
 * so that a body of 100,000 instructions takes milliseconds; instructions have their names from the text format.
 *
 * @example
 * ```ts
 * import { newMemory } from "../runtime/wasm_memory.ts";
 *
 * const memory = newMemory(1, { is64: false, isShared: true });
 * const module = new ModuleBuilder();
 * module.importMemory("env", "memory");
 * const sum = module.addFunction("sum", ["address", "i32"], ["f32"]); // of n floats at an address
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
import { Bytes } from "./bytes.ts";
import { maximumPagesOf } from "../runtime/wasm_memory.ts";
import { type Callable, FunctionBuilder, typeCode, type ValueType } from "./function_builder.ts";

export { type Callable, FunctionBuilder, Local, type Operand, type ValueType } from "./function_builder.ts";
export type { Opcode } from "./opcodes.ts";

interface Import extends Callable {
  readonly module: string;
  readonly name: string;
  readonly type: number;
}

/** A module under construction: imports, types and functions. Every function is exported under its name. */
export class ModuleBuilder {
  readonly #types: string[] = [];
  readonly #typeBytes: Uint8Array[] = [];
  readonly #imports = new Map<string, Import>();
  readonly #functions: { name: string; builder: FunctionBuilder }[] = [];
  readonly #is64: boolean;
  readonly #delaysArithmetic: boolean;
  #memory: { module: string; name: string } | undefined;

  /**
   * @param is64 Whether the addresses of the module's memory have 64 bits.
   * @param vectorsPerRegister Number of adjacent vectors that the engine combines.
   * @param delaysArithmetic See `Platform.delaysArithmetic`.
   */
  constructor(is64 = false, readonly vectorsPerRegister: 1 | 2 = 1, delaysArithmetic = false) {
    this.#is64 = is64;
    this.#delaysArithmetic = delaysArithmetic;
  }

  #type(params: readonly ValueType[], results: readonly ValueType[]): number {
    const key = `${params}:${results}`;
    const index = this.#types.indexOf(key);
    if (index >= 0) return index;
    const bytes = new Bytes();
    bytes.byte(0x60);
    for (const types of [params, results]) {
      bytes.unsigned(types.length);
      for (const type of types) bytes.byte(typeCode(type, this.#is64));
    }
    this.#typeBytes.push(bytes.view());
    return this.#types.push(key) - 1;
  }

  /** Imports a memory with at least one page. */
  importMemory(module: string, name: string): void {
    this.#memory = { module, name };
  }

  /** Imports a function. Repeated imports return the first. */
  importFunction(
    module: string,
    name: string,
    params: readonly ValueType[],
    results: readonly ValueType[],
  ): Callable {
    const key = `${module}.${name}`;
    const imported = this.#imports.get(key);
    if (imported) return imported;
    const added = { module, name, type: this.#type(params, results), index: this.#imports.size };
    this.#imports.set(key, added);
    return added;
  }

  /** Starts an exported function. */
  addFunction(
    name: string,
    params: readonly ValueType[],
    results: readonly ValueType[] = [],
  ): FunctionBuilder {
    const type = this.#type(params, results);
    const builder = new FunctionBuilder(type, params, this.#is64, this.#delaysArithmetic);
    this.#functions.push({ name, builder });
    return builder;
  }

  /** The binary module. */
  toBytes({ isShared = true }: { isShared?: boolean } = {}): Uint8Array<ArrayBuffer> {
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
      // A memory with a maximum.
      bytes.append([0x02, 0x01 | (isShared ? 0x02 : 0) | (this.#is64 ? 0x04 : 0)]);
      // Engines with explicit address checks, such as Deno's, check constant offsets below the minimum only
      // once.
      bytes.unsigned(1);
      bytes.unsigned(maximumPagesOf(this.#is64));
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

/** Whether the engine supports relaxed SIMD, which includes a fused multiply-add. */
export const hasRelaxedSimd: boolean = (() => {
  const module = new ModuleBuilder();
  const f = module.addFunction("test", ["v128"], ["v128"]);
  const [x] = f.params;
  f.op("f32x4.relaxed_madd", x, x, x);
  return WebAssembly.validate(module.toBytes());
})();

/**
 * Compiles a module and returns its exports.
 *
 * @throws {Error} If a page forbids WebAssembly.
 */
export function instantiate(
  bytes: Uint8Array<ArrayBuffer>,
  imports?: WebAssembly.Imports,
): WebAssembly.Exports {
  try {
    return new WebAssembly.Instance(new WebAssembly.Module(bytes), imports).exports;
  } catch (cause) {
    // Generated modules are valid. The runtime can forbid them.
    if (!(cause instanceof WebAssembly.CompileError)) throw cause;
    throw new Error(
      `${cause.message}: the Content Security Policy of a page needs script-src 'wasm-unsafe-eval'`,
      { cause },
    );
  }
}
