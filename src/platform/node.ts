/** Node, and the abilities of Node that Deno has too. */
import type { Disk, NodeModules, Platform, ThreadStart } from "./platform.ts";
import { tryAddressChecks, vectorsPerRegisterOf } from "./vectors_per_register.ts";

interface Modules extends NodeModules {
  "node:fs/promises": typeof import("node:fs/promises");
  "node:os": typeof import("node:os");
  "node:path": typeof import("node:path");
  "node:stream": typeof import("node:stream");
  "node:timers/promises": typeof import("node:timers/promises");
  "node:url": typeof import("node:url");
  "node:v8": typeof import("node:v8");
  "node:worker_threads": typeof import("node:worker_threads");
}

/** The part of Node's global `process` that Weft uses. */
interface Process {
  readonly versions: { readonly node: string; readonly bun?: string };
  readonly arch: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly execArgv: readonly string[];
  resourceUsage(): { readonly maxRSS: number };
  /** Memory of the group of processes (cgroup) in bytes; 0 or a huge number if it has no limit. */
  constrainedMemory(): number;
  getBuiltinModule<Name extends keyof Modules>(name: Name): Modules[Name];
}

const { process } = globalThis as unknown as { process: Process };

/** A module of Node. Modules are not imported, so that bundlers for browsers do not look for them. */
function moduleOf<Name extends keyof Modules>(name: Name): Modules[Name] {
  return process.getBuiltinModule(name);
}

/** Bytes of a part of a file. */
const partBytes = 2 ** 20;

/** Names of architectures, as in Deno and Rust. */
const architectures: Readonly<Record<string, string>> = { x64: "x86_64", arm64: "aarch64" };

/** The oldest version of Node that has all that Weft uses, such as `Map.groupBy`. */
const oldestNode = 22;

/**
 * The Node that runs Weft.
 *
 * @throws {Error} If it is older than Node 22.
 */
export function node(): Platform {
  const { node: version } = process.versions;
  if (parseInt(version) < oldestNode) {
    throw new Error(
      `Weft needs Node ${oldestNode} or later; this is Node ${version}: install it from https://nodejs.org`,
    );
  }
  const architecture = architectures[process.arch] ?? process.arch;
  // Turboshaft, V8's compiler of WebAssembly in later versions, keeps the order of instructions and can combine vectors.
  const delaysArithmetic = process.versions.node.startsWith("22.");
  const flags = [...process.execArgv, ...process.env.NODE_OPTIONS?.split(" ") ?? []];
  return {
    ...nodeAbilities(),
    name: `Node ${process.versions.node}`,
    architecture,
    vectorsPerRegister: (kind) =>
      delaysArithmetic ? 1 : vectorsPerRegisterOf({
        arch: architecture,
        checksAddresses: tryAddressChecks(),
        variable: flags.join(","),
        isStandalone: false,
        trapsAddresses: true,
      }, kind),
    delaysArithmetic,
    prefersMemory64: false,
    dawn: { package: "webgpu", needs: "npm install webgpu" },
    hasNativeLibraries: false,
    machineMemory: () => memoryWithin(moduleOf("node:os").totalmem()),
    // Bun, which has another engine, calls itself Node too.
    limitYoungObjects: process.versions.bun ? undefined : limitYoungObjects,
  };
}

/** Bytes of V8's space for young objects beyond which it does not grow: the most of Node 22. That of Node 24 is 128 MiB. */
const youngBytes = 32 * 2 ** 20;

let isLimited = false;

function limitYoungObjects(): void {
  if (isLimited) return;
  const { getHeapSpaceStatistics, setFlagsFromString } = moduleOf("node:v8");
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
  if (young && young.space_size < youngBytes) return;
  isLimited = true;
  if (young) setFlagsFromString("--semi-space-growth-factor=1");
}

/** Memory that the process may use: of the machine, or of its group of processes. @param total Memory of the machine. */
export function memoryWithin(total: number): number {
  return Math.min(total, process.constrainedMemory() || Infinity);
}

/** Threads, turns of the event loop, memory in use, files, decompression, and modules. */
export function nodeAbilities(): Pick<
  Platform,
  "canSleep" | "startThread" | "nextTurn" | "peakMemory" | "disk" | "zlib" | "moduleOf"
> {
  return {
    canSleep: true,
    moduleOf,
    startThread,
    peakMemory: () => 1024 * process.resourceUsage().maxRSS,
    nextTurn: () => moduleOf("node:timers/promises").setImmediate(),
    disk,
    zlib: {
      crc32: (bytes) => moduleOf("node:zlib").crc32(bytes),
      inflateRaw: (bytes, maxLength) =>
        new Promise((resolve, reject) =>
          moduleOf("node:zlib").inflateRaw(
            bytes,
            { maxOutputLength: maxLength },
            (error, result) => error ? reject(error) : resolve(result),
          )
        ),
      gunzip: (chunks) =>
        moduleOf("node:stream").pipeline(
          chunks,
          moduleOf("node:zlib").createGunzip({ chunkSize: partBytes }),
          () => {},
        ),
    },
  };
}

function startThread({ main, functions, data, onError }: ThreadStart): void {
  const source = `(${main})(require("node:worker_threads").workerData, (${functions})());`;
  const { Worker } = moduleOf("node:worker_threads");
  // An empty environment, because copying the environment requires a permission and would prompt the user.
  const worker = new Worker(source, { eval: true, workerData: data, env: {} });
  worker.on("error", onError);
  worker.unref();
}

/** @param status A status or an entry of a folder. */
function kindOf(status: { isFile(): boolean; isDirectory(): boolean }): "file" | "folder" | "other" {
  return status.isFile() ? "file" : status.isDirectory() ? "folder" : "other";
}

/** @throws {Error} If a path is a pipe: opening it would wait for a reader. */
async function rejectPipe(path: string): Promise<void> {
  const status = await moduleOf("node:fs/promises").stat(path).catch(() => undefined);
  if (status?.isFIFO()) throw new Error("a pipe, not a file");
}

const disk: Disk = {
  async read(path) {
    const { buffer, byteOffset, byteLength } = await moduleOf("node:fs/promises").readFile(path);
    return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
  },
  async *parts(path) {
    const file = await moduleOf("node:fs/promises").open(path);
    try {
      for (;;) {
        const part = new Uint8Array(partBytes);
        const { bytesRead } = await file.read(part);
        if (bytesRead === 0) return;
        yield part.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  },
  async write(path, chunks) {
    await rejectPipe(path);
    const file = await moduleOf("node:fs/promises").open(path, "w");
    try {
      for (const chunk of chunks) await file.writeFile(chunk);
      await file.sync();
    } finally {
      await file.close();
    }
  },
  async append(path, text) {
    await rejectPipe(path);
    await moduleOf("node:fs/promises").appendFile(path, text);
  },
  rename: (from, to) => moduleOf("node:fs/promises").rename(from, to),
  remove: (path) => moduleOf("node:fs/promises").unlink(path),
  kindOf: async (path) => kindOf(await moduleOf("node:fs/promises").stat(path)),
  async list(path) {
    const entries = await moduleOf("node:fs/promises").readdir(path, { withFileTypes: true });
    return await Promise.all(entries.map(async (entry) => {
      const target = entry.isSymbolicLink()
        ? disk.kindOf(`${path}/${entry.name}`).catch(() => "other" as const)
        : kindOf(entry);
      return { name: entry.name, kind: await target };
    }));
  },
  makeFolder: async (path) => void await moduleOf("node:fs/promises").mkdir(path, { recursive: true }),
  resolve: (path) => moduleOf("node:path").resolve(path),
  nameOf: (path) => moduleOf("node:path").basename(path),
  pathOf: (url) => moduleOf("node:url").fileURLToPath(url),
  failureOf(error) {
    const { code } = error as { code?: string };
    if (code === "ENOENT" || code === "ENOTDIR") return "absent";
    return code === "EISDIR" ? "a folder" : code === "EEXIST" ? "already there" : undefined;
  },
};
