/** Layers of folders: a file may import from its folder's layer and from earlier layers. */
import assert from "node:assert/strict";
import { dirname } from "node:path/posix";
import { importsOf, sources } from "./import_graph.ts";

/** Folders from the first layer to the last. Folders in the same line form one layer. */
const layers = [
  // Charts and pages are plain data and texts, which also run in a browser.
  ["src/charts"],
  ["kernels", "src/platform"],
  ["src/device"],
  ["src/tensor", "src/files"],
  ["src/autodiff"],
  ["src/compile"],
  ["src/paths"],
  ["src/solvers"],
  ["src/nn", "src/optim"],
  ["src/models"],
  ["src/data"],
  ["src/train"],
  ["src/series"],
  ["src/serve"],
  ["src/view"],
  ["src/commands"],
  ["web"],
  ["tasks"],
];

/** The only modules of the compiler that solvers, layers and models may import. */
const publicModules = [
  "src/compile/loop/scan.ts",
  "src/compile/loop/while_loop.ts",
  "src/compile/loop/loop.ts",
  "src/compile/jit/jit.ts",
  "src/compile/jit/each_call.ts",
];
const restrictedFolders = ["src/paths", "src/solvers", "src/nn", "src/optim", "src/models"];

/** Folders of models of users' series, with the same rule, from the first layer to the last. */
const seriesLayers = ["math", "record", "read", "models", "targets", "choose", "run"]
  .map((folder) => [`src/series/${folder}`]);

const isIn = (file: string) => (folder: string) => file.startsWith(`${folder}/`);
const layerOf = (file: string, layers: readonly string[][]) =>
  layers.findIndex((folders) => folders.some(isIn(file)));

/** Imports that violate the order of layers, or bypass the compiler's public modules. */
function violations(files: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  for (const [file, source] of files) {
    // The last layer may import everything, tests included.
    if (isIn(file)("tasks")) continue;
    for (const imported of importsOf(file, source)) {
      const [layer, importedLayer] = [layerOf(file, layers), layerOf(imported, layers)];
      if (layer < 0 || importedLayer < 0) found.push(`${file} imports ${imported}: a folder without a layer`);
      else if (importedLayer > layer) found.push(`${file} imports ${imported}, a later layer`);
      const seriesLayer = layerOf(file, seriesLayers);
      if (seriesLayer >= 0 && layerOf(imported, seriesLayers) > seriesLayer) {
        found.push(`${file} imports ${imported}, a later layer of src/series`);
      }
      const bypassesPublicModules = restrictedFolders.some(isIn(file)) && isIn(imported)("src/compile") &&
        !publicModules.includes(imported);
      if (bypassesPublicModules) {
        found.push(`${file} imports ${imported}: it may only import ${publicModules.join(", ")}`);
      }
    }
  }
  return found;
}

/** Imports of the papers' files that are neither their own nor, by the names in deno.json, public modules. */
function internalImports(files: ReadonlyMap<string, string>): string[] {
  const isOwn = (imported: string) => isIn(imported)("tasks/papers") || imported === "tasks/markdown.ts";
  return [...files].flatMap(([file, source]) =>
    importsOf(file, source).filter((imported) => !isOwn(imported)).map((imported) =>
      `${file} imports ${imported}`
    )
  );
}

/** Files that some programs load: statically, or by a dynamic import of a literal. */
function loadedBy(programs: readonly string[], files: ReadonlyMap<string, string>): string[] {
  const loaded = new Set(programs);
  for (const file of loaded) {
    for (const imported of importsOf(file, files.get(file) ?? "")) loaded.add(imported);
  }
  return [...loaded];
}

/** Folders at the top of the repository that have layers. */
const library = [...new Set(layers.flat().map((folder) => folder.split("/")[0]))];

Deno.test("files import only from their layer and earlier layers, and only the public modules of the compiler", async () => {
  const files = await sources(library);
  assert.ok(files.size > 200, `${files.size} files were looked at`);
  assert.deepEqual(violations(files), []);
});

Deno.test("every file of src/series is in one of its layers, except its public module", async () => {
  const files = [...(await sources(["src/series"])).keys()];
  assert.deepEqual(files.filter((file) => layerOf(file, seriesLayers) < 0), ["src/series/mod.ts"]);
});

Deno.test("no folder of src has more than 25 files beside each other", async () => {
  const folders = Map.groupBy((await sources(["src"])).keys(), (file) => dirname(file));
  assert.ok(folders.size > 60, `${folders.size} folders were looked at`);
  const large = [...folders].filter(([, files]) => files.length > 25);
  assert.deepEqual(large.map(([folder, files]) => `${folder}: ${files.length}`), []);
});

Deno.test("the papers import public modules alone", async () => {
  const files = await sources(["tasks/papers"]);
  assert.ok(files.size > 50, `${files.size} files were looked at`);
  assert.deepEqual(internalImports(files), []);
  const broken = new Map([[
    "tasks/papers/a.ts",
    'import { sine } from "./b.ts";\nimport "../../src/nn/mlp.ts";\n',
  ]]);
  assert.deepEqual(internalImports(broken), ["tasks/papers/a.ts imports src/nn/mlp.ts"]);
});

Deno.test("serve and its threads load nothing of the papers for a run of the user's own series", async () => {
  const files = await sources(["src", "tasks"]);
  const loaded = loadedBy(["tasks/serve.ts", "tasks/serve_worker.ts"], files);
  assert.ok(loaded.includes("src/series/run/own_series.ts"), `${loaded.length} files were looked at`);
  assert.deepEqual(loaded.filter((file) => isIn(file)("tasks/papers")), []);
  assert.ok(loadedBy(["tasks/train.ts"], files).some((file) => isIn(file)("tasks/papers")));
});

/** Experiments of a run, where reading the papers' files is denied, as an import of an expression needs. */
async function experimentsWithoutPapers(name: string): Promise<{ success: boolean; text: string }> {
  const program = `import { experimentsOfRun } from "./tasks/run_experiments.ts";
console.log((await experimentsOfRun("${name}")).map(({ name }) => name).join());`;
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "--no-prompt", "-P=read", "--deny-read=tasks/papers", "-"],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  await new Blob([program]).stream().pipeTo(process.stdin);
  const { success, stdout, stderr } = await process.output();
  return { success, text: new TextDecoder().decode(success ? stdout : stderr).trim() };
}

Deno.test("only a run of a paper loads the papers' experiments", async () => {
  assert.deepEqual(await experimentsWithoutPapers("own-series"), { success: true, text: "own-series" });
  const { success, text } = await experimentsWithoutPapers("sine");
  assert.ok(!success && /Requires read access to .*tasks\/papers/.test(text), text);
});

Deno.test("every file of code, tests and examples has at most 400 lines", async () => {
  const lengths = [...await sources([...library, "tests", "bench", "examples"])].map(([file, source]) =>
    [file, source.split("\n").length - 1] as const
  );
  assert.ok(lengths.some(([file]) => file.endsWith(".wgsl")), "kernels were looked at");
  assert.deepEqual(lengths.filter(([, lines]) => lines > 400), []);
});

/** Files that may use the runtime directly: programs and servers, and files that lock a run or read special formats. */
const runtimeFiles = [
  "src/platform/",
  "src/serve/",
  "src/view/",
  "src/commands/",
  "src/device/cpu/matmul/blas.ts",
  "src/train/run/run_folder.ts",
  "src/data/table/parquet.ts",
  "src/data/table/sqlite.ts",
];

/** Uses of Deno or of Node in a line of code. Comments and the name of a symbol are not uses. */
const usesRuntime = /^(?!\s*(\*|\/\/|\/\*)).*(?<!\.for\(")(\bDeno\.[a-z]|["']node:)/m;

Deno.test("only src/platform and the listed files use Deno or Node", async () => {
  const files = [...await sources(["src", "kernels"])];
  const isListed = (file: string) => runtimeFiles.some((name) => file.startsWith(name));
  const found = files.filter(([file, source]) => !isListed(file) && usesRuntime.test(source));
  assert.deepEqual(found.map(([file]) => file), []);
  assert.ok(usesRuntime.test("const x = 1;\n  await Deno.readFile(path);"));
  assert.ok(usesRuntime.test('import { resolve } from "node:path";'));
  assert.ok(!usesRuntime.test(' * Needs `Deno.readFile`.\n  [Symbol.for("Deno.customInspect")]: print,'));
});

/** Tests of a device's class. The property `kind` of devices replaces them. */
const classTest = /instanceof (CpuDevice|WebGpuDevice)\b/;

Deno.test("no file above src/device tests the class of a device", async () => {
  const files = await sources([...library, "bench", "examples"]);
  const found = [...files].filter(([file, source]) => !isIn(file)("src/device") && classTest.test(source));
  assert.deepEqual(found.map(([file]) => file), []);
  assert.ok(classTest.test("if (device instanceof WebGpuDevice) return;"));
});

Deno.test("the check detects imports that violate the order of layers", () => {
  const broken = (file: string, source: string) => violations(new Map([[file, source]])).length;
  assert.equal(broken("src/device/a.ts", 'import { type Tensor } from "../tensor/tensor.ts";'), 1);
  assert.equal(broken("src/solvers/a.ts", 'import {\n  evaluate,\n} from "../compile/trace/graph.ts";'), 1);
  assert.equal(broken("src/models/warp/a.ts", 'export * from "../../compile/vectorize.ts";'), 1);
  assert.equal(broken("src/solvers/a.ts", 'import "../models/neural_cde.ts";'), 1);
  assert.equal(
    broken("src/solvers/a.ts", 'const { evaluate } = await import("../compile/trace/graph.ts");'),
    1,
  );
  assert.equal(broken("src/train/a.ts", 'import { ownSeries } from "../series/own_series.ts";'), 1);
  assert.equal(
    broken("src/train/a.ts", 'import { tables } from "../../tasks/papers/tables/registry.ts";'),
    1,
  );
  assert.equal(
    broken("src/series/a.ts", 'import { sine } from "../../tasks/papers/experiments/sine.ts";'),
    1,
  );
  assert.equal(broken("src/series/read/a.ts", 'import { auto } from "../choose/auto.ts";'), 1);
  assert.equal(broken("src/series/models/local/a.ts", 'import { auto } from "../../targets/score.ts";'), 1);
  assert.equal(broken("src/series/run/a.ts", 'import { auto } from "../choose/auto.ts";'), 0);
  assert.equal(broken("src/new/a.ts", 'import { Tensor } from "../tensor/tensor.ts";'), 1);
  assert.equal(broken("src/solvers/a.ts", 'import { scan } from "../compile/loop/scan.ts";'), 0);
  assert.equal(broken("src/compile/trace/a.ts", 'import type { Node } from "./graph.ts";'), 0);
});
