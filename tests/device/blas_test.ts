import assert from "node:assert/strict";
import { init, jit, key, normal, scan, splitKey, type Tensor, valueAndGrad } from "../../mod.ts";
import { checkLibrary } from "../../src/device/cpu/matmul/blas.ts";
import { type BlasMatrix, type NativeLibrary, nativeProducts } from "../../src/device/cpu/matmul/native.ts";
import { type CpuDevice, createCpuDevice } from "../../src/device/cpu/device.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { cpu } from "../devices.ts";

/** A device whose large products use plain loops and are counted. */
function deviceWithLoops(): { device: CpuDevice; library: NativeLibrary; counted: { products: number } } {
  const counted = { products: 0 };
  let library!: NativeLibrary;
  const device = createCpuDevice({
    threads: 1,
    blas: (memory) =>
      nativeProducts(
        library = {
          description: "loops",
          multiply(dtype, { m, n, k }, left, right, address) {
            counted.products++;
            const [words, size] = dtype === "float32" ? [memory.f32, 4] as const : [memory.f64, 8] as const;
            const at = ({ address, isTransposed, rowStride }: BlasMatrix, row: number, column: number) =>
              words[address / size + (isTransposed ? column * rowStride + row : row * rowStride + column)];
            for (let i = 0; i < m; i++) {
              for (let j = 0; j < n; j++) {
                let sum = 0;
                for (let p = 0; p < k; p++) sum += at(left, i, p) * at(right, p, j);
                words[address / size + i * n + j] = sum;
              }
            }
          },
        },
      ),
  });
  return { device, library, counted };
}

async function on<T>(device: CpuDevice, body: () => T | Promise<T>): Promise<T> {
  setCurrentDevice(device);
  try {
    return await body();
  } finally {
    setCurrentDevice(cpu);
  }
}

/** Products of every kind: axis orders, batches, windows, overlapping rows, and too few rows. */
function products(dtype: "float32" | "float64"): Tensor[] {
  const [a, b, c] = splitKey(key(1), 3).map((seed, i) =>
    normal(seed, [[170, 190], [190, 160], [2, 160, 170]][i], { dtype })
  );
  return [
    a.matmul(b),
    b.transpose().matmul(a.transpose()),
    a.transpose().mul(1).transpose().matmul(b.transpose().mul(1).transpose()),
    c.matmul(a),
    c.transpose(1, 2).matmul(c),
    a.slice(1, 10, 180).matmul(b.slice(0, 20, 190)),
    a.flip(0).matmul(b),
    a.slice(0, 0, 9).matmul(b),
  ];
}

async function assertClose(found: Tensor[], expected: Tensor[], tolerance: number) {
  for (const [i, x] of found.entries()) {
    const [values, others] = [await x.data(), await expected[i].data()];
    const worst = Math.max(...values.map((value, at) => Math.abs(value - others[at])));
    const largest = Math.max(...others.map(Math.abs));
    assert.ok(worst <= tolerance * largest, `result ${i} differs by ${worst} where values reach ${largest}`);
  }
}

for (const dtype of ["float32", "float64"] as const) {
  Deno.test(`large products of every memory layout use the native library, ${dtype}`, async () => {
    const { device, counted } = deviceWithLoops();
    if (device.memory.is64) device.memory.allocate(5 * 2 ** 30);
    const found = await on(device, () => products(dtype));
    // One batch takes a product per element, another a single product. Libraries do not support reversed
    // rows, and nine rows are too few.
    assert.equal(counted.products, 7);
    await assertClose(found, products(dtype), dtype === "float32" ? 1e-5 : 1e-13);
  });
}

/** A recurrence with a matrix that is too large for fused loops, and its gradient. */
function recurrence(): Tensor[] {
  const [w, h, x] = splitKey(key(2), 3).map((seed, i) =>
    normal(seed, [[1500, 1500], [32, 1500], [3, 32, 1500]][i], { standardDeviation: 0.02 })
  );
  const [loss, gradient] = valueAndGrad((w: Tensor) => {
    const [last] = scan((h: Tensor, x: Tensor) => [h.matmul(w).add(x).tanh(), h], h, x);
    return last.square().sum();
  })(w);
  return [loss, gradient];
}

Deno.test("large products in compiled loops and in jit replays use the native library", async () => {
  const { device, library, counted } = deviceWithLoops();
  await on(device, () => {
    const [a, b] = splitKey(key(3), 2).map((seed) => normal(seed, [180, 180]));
    const square = jit((x: Tensor) => x.matmul(b));
    for (let i = 0; i < 3; i++) square(a);
  });
  assert.ok(counted.products >= 3);
  library.multiply = () => counted.products++;
  counted.products = 0;
  await on(device, recurrence);
  assert.ok(counted.products >= 2 * 3, `${counted.products} products of three steps and their gradients`);
});

/** The output of a separate program, with or without permissions. */
async function run(flags: string[], code: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(file, code);
    const args = ["run", "--quiet", "--no-prompt", ...flags, file];
    const output = await new Deno.Command(Deno.execPath(), { args, env: { NO_COLOR: "1" } }).output();
    const [stdout, stderr] = [output.stdout, output.stderr].map((bytes) => new TextDecoder().decode(bytes));
    return { code: output.code, stdout, stderr };
  } finally {
    await Deno.remove(file);
  }
}

const mod = JSON.stringify(new URL("../../mod.ts", import.meta.url).href);

Deno.test("init rejects a BLAS without permission, a missing file and a file that is not a BLAS", async () => {
  const other = { linux: "libc.so.6", darwin: "/usr/lib/libSystem.dylib" }[Deno.build.os as string] ??
    "kernel32.dll";
  const code = (names: string[]) => `
    const { init } = await import(${mod});
    for (const blas of ${JSON.stringify(names)}) {
      await init({ device: "cpu", blas }).then(() => console.log("opened"), (error) => console.log(error.message));
    }`;
  const forbidden = await run([], code(["auto"]));
  assert.match(forbidden.stdout, /^init: blas .* run deno with --allow-ffi$/m, forbidden.stderr);
  const { stdout, stderr } = await run(["--allow-ffi"], code(["/nowhere/libblas.so", other]));
  assert.match(
    stdout,
    /^init: the BLAS "\/nowhere\/libblas.so" cannot be opened \(.*\): install .*, or leave blas out$/m,
    stderr,
  );
  assert.match(
    stdout,
    /^init: ".*" is not a BLAS with a C interface: it has no function cblas_sgemm; give the path/m,
  );
  await assert.rejects(
    init({ device: "webgpu", blas: "auto" }),
    /^OptionError: init: blas is an option of the CPU device/,
  );
  await assert.rejects(
    init({ device: "cpu", blas: "" }),
    /^OptionError: init: blas must be "auto" or the path/,
  );
});

Deno.test("init rejects a BLAS with 64-bit integers", () => {
  const library = (index: (n: bigint, x: Float32Array) => bigint) => {
    const cblas_isamax = (n: number | bigint, x: unknown) => index(BigInt(n), x as Float32Array);
    const gemm = () => {};
    return { cblas_sgemm: gemm, cblas_dgemm: gemm, cblas_isamax } as unknown as Parameters<
      typeof checkLibrary
    >[0];
  };
  const indexOfLargest = (n: bigint, x: Float32Array) => n > 0 ? BigInt(x.indexOf(Math.max(...x))) : 0n;
  checkLibrary(library((n, x) => indexOfLargest(BigInt.asIntN(32, n), x)), "lp64");
  assert.throws(
    () => checkLibrary(library(indexOfLargest), "ilp64"),
    /"ilp64" has an interface with 64-bit integers/,
  );
});

Deno.test("an installed BLAS agrees with WebAssembly and gives the same bits each time", async () => {
  const { stdout, stderr, code } = await run(
    ["--allow-ffi"],
    `
    const { init, key, normal, splitKey } = await import(${mod});
    const products = () => ["float32", "float64"].flatMap((dtype) => {
      const [a, b] = splitKey(key(1), 2).map((seed, i) => normal(seed, [[301, 299], [299, 303]][i], { dtype }));
      return [a.matmul(b), b.transpose().matmul(a.transpose())];
    });
    await init({ device: "cpu", threads: 2 });
    const expected = await Promise.all(products().map((x) => x.data()));
    const device = await init({ device: "cpu", threads: 2, blas: "auto" })
      .catch((error) => /no BLAS was found/.test(error.message) ? undefined : Promise.reject(error));
    if (!device) console.log("none");
    else {
      const [found, again] = [await Promise.all(products().map((x) => x.data())), await Promise.all(products().map((x) => x.data()))];
      const worst = found.map((values, i) => Math.max(...values.map((value, at) => Math.abs(value - expected[i][at]))));
      const same = found.every((values, i) => values.every((value, at) => value === again[i][at]));
      console.log(JSON.stringify({ worst, same, description: device.info.description }));
    }
  `,
  );
  assert.equal(code, 0, stderr);
  if (stdout.trim() === "none") return console.log("no BLAS is installed: left out");
  const { worst, same, description } = JSON.parse(stdout);
  assert.match(description, /matrix products by /);
  assert.ok(same);
  worst.forEach((difference: number, i: number) =>
    assert.ok(difference <= (i < 2 ? 1e-4 : 1e-12), `${difference}`)
  );
});
