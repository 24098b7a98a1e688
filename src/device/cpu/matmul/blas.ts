/**
 * Matrix products by a native library with the C interface of BLAS (OpenBLAS, Intel MKL, BLIS, Apple
 * Accelerate), on the memory of the device, without copies.
 */
import type { Memory } from "../runtime/memory.ts";
import { type Blas, nativeProducts } from "./native.ts";

const [i32, usize] = ["i32", "usize"] as const;
const multiply = <T extends "f32" | "f64">(scalar: T) => ({
  // Order, transpositions, m, n, k, alpha, a and its row stride, b and its row stride, beta, c and its row
  // stride.
  parameters: [i32, i32, i32, i32, i32, i32, scalar, usize, i32, usize, i32, scalar, usize, i32],
  result: "void",
  optional: true,
} as const);
const setThreads = { parameters: [i32], result: "void", optional: true } as const;
const symbols = {
  cblas_sgemm: multiply("f32"),
  cblas_dgemm: multiply("f64"),
  cblas_isamax: { parameters: ["i64", "buffer", "i64"], result: usize, optional: true },
  openblas_get_config: { parameters: [], result: "pointer", optional: true },
  openblas_get_corename: { parameters: [], result: "pointer", optional: true },
  openblas_set_num_threads: setThreads,
  MKL_Set_Num_Threads: setThreads,
  bli_thread_set_num_threads: { ...setThreads, parameters: ["i64"] },
} as const;

type Symbols = Deno.DynamicLibrary<typeof symbols>["symbols"];

/**
 * Libraries that `"auto"` tries, in this order. The reference BLAS is slower than WebAssembly and not listed.
 */
const libraryNames: Partial<Record<typeof Deno.build.os, readonly string[]>> = {
  linux: [
    "libopenblas.so.0",
    "libopenblas.so",
    "libmkl_rt.so.2",
    "libmkl_rt.so",
    "libblis.so.4",
    "libblis.so",
  ],
  darwin: ["/System/Library/Frameworks/Accelerate.framework/Accelerate", "libopenblas.dylib"],
  windows: ["libopenblas.dll", "openblas.dll", "mkl_rt.2.dll", "mkl_rt.dll"],
};

const remedy = {
  linux: `install OpenBLAS (Debian and Ubuntu: apt install libopenblas0-pthread)`,
  darwin: "install OpenBLAS (brew install openblas)",
  windows: "install OpenBLAS or MKL",
}[Deno.build.os as string] ?? "install OpenBLAS";

/**
 * Opens a library by its path or name, or with `"auto"` the first installed library of the names below.
 *
 * @returns A function that binds the library to a device's memory and number of threads.
 * @throws {Error} If the library is missing or not permitted, or is not a BLAS with 32-bit integers.
 */
export async function openBlas(name: string): Promise<(memory: Memory, threads: number) => Blas> {
  const permission = name === "auto" ? { name: "ffi" } as const : { name: "ffi", path: name } as const;
  const { state } = await Deno.permissions.request(permission);
  if (state !== "granted") {
    throw new Error(`init: blas calls a native library, which needs a permission: run deno with --allow-ffi`);
  }
  if (name !== "auto") return onMemory(openLibrary(name), name);
  const names = libraryNames[Deno.build.os] ?? [];
  for (const candidate of names) {
    let library: Symbols;
    try {
      library = openLibrary(candidate);
    } catch {
      continue;
    }
    return onMemory(library, candidate);
  }
  throw new Error(
    `init: no BLAS was found (${
      names.join(", ")
    }): ${remedy}, or give the path of a library: blas: "/path/to/libopenblas.so"`,
  );
}

function openLibrary(path: string): Symbols {
  try {
    return Deno.dlopen(path, symbols).symbols;
  } catch (error) {
    const reason = (error as Error).message.replaceAll(/Could not open library: /g, "");
    throw new Error(`init: the BLAS "${path}" cannot be opened (${reason}): ${remedy}, or leave blas out`);
  }
}

/** @throws {Error} If a library is not a BLAS, or its integers have 64 bits. */
export function checkLibrary(
  { cblas_sgemm, cblas_dgemm, cblas_isamax }: Pick<Symbols, "cblas_sgemm" | "cblas_dgemm" | "cblas_isamax">,
  name: string,
): void {
  if (!cblas_sgemm || !cblas_dgemm || !cblas_isamax) {
    throw new Error(
      `init: "${name}" is not a BLAS with a C interface: it has no function cblas_sgemm; give the path of OpenBLAS, MKL or BLIS`,
    );
  }
  // The lower 32 bits of this length are 3, and the whole number is negative, so that a 64-bit interface
  // reads no elements.
  const length = -(2n ** 32n) + 3n;
  if (Number(cblas_isamax(length, Float32Array.of(1, 2, 3), 1n)) !== 2) {
    throw new Error(
      `init: "${name}" has an interface with 64-bit integers; give the path of a build with 32-bit integers (LP64)`,
    );
  }
}

/**
 * The number of threads that was set last. Libraries are opened once per process, so several devices share
 * them.
 */
const threadsOf = new WeakMap<Symbols, number>();

function onMemory(library: Symbols, name: string): (memory: Memory, threads: number) => Blas {
  checkLibrary(library, name);
  const [config, core] = [library.openblas_get_config?.(), library.openblas_get_corename?.()].map((text) =>
    text ? new Deno.UnsafePointerView(text).getCString() : ""
  );
  // OpenBLAS has kernels for each type of processor.
  const description = config ? config.split(" ", 2).join(" ") + (core && ` for ${core}`) : name;
  const [rowMajor, asItIs, transposed] = [101, 111, 112];
  return (memory, threads) => {
    // The memory grows in place.
    const base = Deno.UnsafePointer.value(Deno.UnsafePointer.of(memory.u8));
    return nativeProducts({
      description,
      multiply(dtype, { m, n, k }, left, right, address) {
        if (threadsOf.get(library) !== threads) {
          threadsOf.set(library, threads);
          library.openblas_set_num_threads?.(threads);
          library.MKL_Set_Num_Threads?.(threads);
          library.bli_thread_set_num_threads?.(BigInt(threads));
        }
        const gemm = dtype === "float32" ? library.cblas_sgemm! : library.cblas_dgemm!;
        const orders = [left, right].map(({ isTransposed }) => isTransposed ? transposed : asItIs);
        gemm(
          rowMajor,
          orders[0],
          orders[1],
          m,
          n,
          k,
          1,
          base + BigInt(left.address),
          left.rowStride,
          base + BigInt(right.address),
          right.rowStride,
          0,
          base + BigInt(address),
          n,
        );
      },
    });
  };
}
