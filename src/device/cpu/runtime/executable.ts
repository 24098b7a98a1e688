/** WebAssembly modules on the device's memory. */
import { platform } from "../../../platform/current.ts";
import { outsideCapture } from "../../capture.ts";
import { hostFunctions, type Task } from "./host_functions.ts";
import type { Block, Memory } from "./memory.ts";
import {
  type Callable,
  type FunctionBuilder,
  instantiate,
  type Local,
  ModuleBuilder,
  type ValueType,
} from "../assembler/wasm.ts";

const functions = hostFunctions();

/** A module that works on the device's memory and may import {@linkcode hostFunctions}. */
export function newModule(
  { is64, vectorsPerRegister }: Pick<Memory, "is64" | "vectorsPerRegister">,
): ModuleBuilder {
  const module = new ModuleBuilder(is64, vectorsPerRegister, platform.delaysArithmetic);
  module.importMemory("env", "memory");
  return module;
}

/** A function of a task under construction. */
export interface TaskBuilder {
  readonly f: FunctionBuilder;
  readonly task: Local;
  /** Address of the descriptor. */
  readonly descriptor: Local;
  /** Reads a word of the descriptor. */
  readonly word: (at: number) => Local;
  /** Reads a word of the descriptor as an address, or as a distance between addresses. */
  readonly address: (at: number) => Local;
  readonly distance: (at: number) => Local;
}

/** Starts the function of a task. */
export function addTask(module: ModuleBuilder, name: string): TaskBuilder {
  const f = module.addFunction(name, ["i32", "i32"]);
  const [task, word] = f.params;
  const descriptor = f.local("address");
  f.set(descriptor, () => f.addressOfWord(word));
  const reader = (type: "i32" | "address", load: (offset: number) => void) => (at: number) => {
    const local = f.local(type);
    f.set(local, () => load(4 * at));
    return local;
  };
  return {
    f,
    task,
    descriptor,
    word: reader("i32", (offset) => f.load("i32.load", descriptor, offset)),
    address: reader("address", (offset) => f.loadAddress(descriptor, offset)),
    distance: reader("address", (offset) => f.loadDistance(descriptor, offset)),
  };
}

/** Imports a function of {@linkcode hostFunctions}, with f64 operands and result. */
export function importHostFunction(module: ModuleBuilder, name: string, operands: number): Callable {
  return module.importFunction("env", name, new Array<ValueType>(operands).fill("f64"), ["f64"]);
}

/** Releases the memory of modules that are no longer referenced. */
const unused = new FinalizationRegistry(({ memory, block }: { memory: Memory; block: Block }) =>
  memory.release(block)
);

let moduleCount = 0;

/** A compiled module. Workers compile a copy of its bytes. */
export class Executable {
  /** A unique number that identifies the module for workers: the address can be reused by another module. */
  readonly number: number = moduleCount++;
  readonly exports: Record<string, Task>;
  /** Names of the exports, in the same order on every thread. */
  readonly names: readonly string[];
  readonly #memory: Memory;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #shared: Block | undefined;

  constructor(memory: Memory, module: ModuleBuilder) {
    this.#memory = memory;
    this.#bytes = module.toBytes(memory);
    const env = { memory: memory.wasm, ...functions };
    this.exports = instantiate(this.#bytes, { env }) as Record<string, Task>;
    this.names = Object.keys(this.exports);
  }

  get byteLength(): number {
    return this.#bytes.length;
  }

  /** Allocates memory that is released when the module is no longer referenced. */
  allocate(byteLength: number): Block {
    const block = outsideCapture(() => this.#memory.allocate(byteLength));
    unused.register(this, { memory: this.#memory, block });
    return block;
  }

  /** Address of the module's bytes in the shared memory. */
  get address(): number {
    if (!this.#shared) {
      this.#shared = this.allocate(this.#bytes.length);
      this.#memory.u8.set(this.#bytes, this.#shared.address);
    }
    return this.#shared.address;
  }
}
