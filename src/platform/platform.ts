/** Abilities of the program that runs Weft: Deno, Node, or a browser. */

/** Kind of a path. Devices and sockets, for example, are "other". */
type FileKind = "file" | "folder" | "other";

/** A file system. Paths are those of the operating system. */
export interface Disk {
  read(path: string): Promise<Uint8Array<ArrayBuffer>>;
  /** Reads a file in parts. It is open until the last part, or until the caller stops. */
  parts(path: string): AsyncGenerator<Uint8Array>;
  /** Writes a new file, and waits until its content is on the disk. An existing file is replaced. */
  write(path: string, chunks: readonly Uint8Array[]): Promise<void>;
  append(path: string, text: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** @throws {Error} If the path does not exist. See {@linkcode Disk.failureOf}. */
  kindOf(path: string): Promise<FileKind>;
  /** Files and folders in a folder, in any order. A link is what it leads to. */
  list(path: string): Promise<readonly { readonly name: string; readonly kind: FileKind }[]>;
  /** Makes a folder and its parents, if missing. */
  makeFolder(path: string): Promise<void>;
  /** An absolute path. */
  resolve(path: string): string;
  /** The name of a file or folder, without the folders that contain it. */
  nameOf(path: string): string;
  /** Path of a `file:` URL. */
  pathOf(url: URL): string;
  /** Reason of an error of these functions. Undefined for other reasons, such as a missing permission. */
  failureOf(error: unknown): "absent" | "a folder" | "already there" | undefined;
}

/** Checksums and decompression. */
export interface Zlib {
  crc32(bytes: Uint8Array): number;
  /**
   * Decompresses a deflate stream without header.
   *
   * @param maxLength Maximum number of bytes after decompression.
   * @throws {Error} If the bytes are damaged, or longer after decompression.
   */
  inflateRaw(bytes: Uint8Array, maxLength: number): Promise<Uint8Array>;
  /** Decompresses gzip. Browsers reject bytes after the first gzip member, such as those of concatenated files. */
  gunzip(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

/** Kind of a memory of WebAssembly. */
export interface MemoryKind {
  /** Whether addresses have 64 bits. */
  readonly is64: boolean;
  /** Whether threads can share the memory. */
  readonly isShared: boolean;
}

/** Modules of Node that read tables, by name. */
export interface NodeModules {
  "node:fs": typeof import("node:fs");
  "node:sqlite": typeof import("node:sqlite");
  "node:zlib": typeof import("node:zlib");
}

/** Starts a thread that shares memory with the caller. */
export interface ThreadStart {
  /** Address of a file with the same content as the texts below. Only browsers use it. */
  readonly url?: string;
  /**
   * Source of a function of two arguments: `data`, and the result of `functions`. It must not refer to outer names.
   */
  readonly main: string;
  /** Source of a function without arguments. */
  readonly functions: string;
  /** Structured data for the thread. */
  readonly data: unknown;
  /** Called with an error that the thread does not catch. */
  readonly onError: (error: unknown) => void;
}

/** The program that runs Weft. A missing property is an ability that the program lacks. */
export interface Platform {
  /** Name and version for messages, for example "Deno 2.9.6". */
  readonly name: string;
  /** Architecture of the processor, for example "x86_64" or "aarch64". Unknown in browsers. */
  readonly architecture?: string;
  /** Number of 128-bit vectors per register in code for a kind of memory. It determines the width of tiles. Default: 1. */
  vectorsPerRegister?(kind: MemoryKind): 1 | 2;
  /**
   * Whether the compiler of WebAssembly moves arithmetic to the end of a loop's body, behind loads that are written after it. If the
   * loaded values exceed the registers, such code is slow.
   */
  readonly delaysArithmetic?: boolean;
  /** Whether memories with 64-bit addresses are as fast as those with 32-bit addresses. */
  readonly prefersMemory64: boolean;
  /** Its own WebGPU in messages, for example "Deno's WebGPU". */
  readonly webGpu?: string;
  /** The package of Google's Dawn, another WebGPU implementation, and what an import of it needs. */
  readonly dawn?: { readonly package: string; readonly needs: string };
  /** Memory of the machine, or of the process's group if that is less, in bytes; infinity if unknown. */
  machineMemory(): number;
  /** Whether this thread can wait for others without using the processor. A page's main thread cannot. */
  readonly canSleep: boolean;
  /** @throws {Error} If the thread cannot be started. */
  startThread?(start: ThreadStart): void;
  /**
   * The reason that threads cannot be started, or undefined if they can.
   *
   * @param url Address of the file of a thread. Default: a thread is started from a text.
   */
  whyNoThreads?(url?: string): Promise<string | undefined>;
  /** Stops the growth of the space for young objects of JavaScript if it is large. The engine may enlarge it in any long loop. */
  limitYoungObjects?(): void;
  /** Ends when the event loop has run once. */
  nextTurn(): Promise<void>;
  /** The most memory in bytes that the process has used so far. */
  peakMemory?(): number;
  /** Whether it can call native libraries. */
  readonly hasNativeLibraries: boolean;
  readonly disk?: Disk;
  readonly zlib?: Zlib;
  /** A module of Node. It is not imported, so that bundlers for browsers do not look for it. */
  moduleOf?<Name extends keyof NodeModules>(name: Name): NodeModules[Name];
}
