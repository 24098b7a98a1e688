/**
 * Commands compiled to one executable contain everything that they need. Deno's executable replaces the
 * runtime that `deno compile` would download. The tests read the executable without running it.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { testLong } from "../devices.ts";
import { withFolder } from "./command_line.ts";

const root = new URL("../..", import.meta.url);

interface NpmPackage {
  readonly name: string;
  readonly version: string;
  readonly dependencies: readonly string[];
}

interface Graph {
  readonly roots: readonly string[];
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly { readonly code?: { readonly specifier: string } }[];
    readonly npmPackage?: string;
  }[];
  readonly redirects: Record<string, string>;
  readonly npmPackages: Record<string, NpmPackage>;
}

async function deno(cwd: URL | string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd,
    env: { DENORT_BIN: Deno.execPath() },
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/**
 * Files and packages that a program loads, without modules that it imports only types from. `npmPackages` of the graph can also
 * have packages of a lock file in a folder above, which the program does not import.
 */
function loadedBy({ roots, modules, redirects, npmPackages }: Graph): {
  readonly files: string[];
  readonly packages: NpmPackage[];
} {
  const bySpecifier = new Map(modules.map((module) => [module.specifier, module]));
  const loaded = new Set(roots);
  const packages = new Set<string>();
  for (const specifier of loaded) {
    const { dependencies = [], npmPackage } = bySpecifier.get(redirects[specifier] ?? specifier) ?? {};
    for (const { code } of dependencies) {
      if (code) loaded.add(code.specifier);
    }
    if (npmPackage) packages.add(npmPackage);
  }
  for (const name of packages) {
    for (const dependency of npmPackages[name].dependencies) packages.add(dependency);
  }
  return {
    files: [...loaded].filter((specifier) => specifier.startsWith("file:")).map((url) =>
      new URL(url).pathname
    ),
    packages: [...packages].map((name) => npmPackages[name]),
  };
}

/**
 * Loads large packages that no executable includes: Dawn's, the package of the paired test, a decoder of
 * photographs, and a physics engine. Tables are written without a test if its package is missing. The papers' experiments are
 * embedded, because the command `train` imports them. The file of a user's model is read from the disk.
 */
const leftOut =
  /await import\((?:\/\* webpackIgnore: true \*\/ )?(dawnPackage|testPackage|decoderPackage|physicsPackage|papers|url\.href)\)/;

/**
 * Files that an entry point needs: its module graph, modules loaded by URL, such as workers, and its
 * packages.
 */
async function neededFiles(cwd: URL | string, entry: string): Promise<string[]> {
  const graph: Graph = JSON.parse(await deno(cwd, "info", "--json", entry));
  const { npmCache } = JSON.parse(await deno(cwd, "info", "--json"));
  const { files, packages } = loadedBy(graph);
  const named = await Promise.all(files.map(async (file) => {
    const text = (await Deno.readTextFile(file)).replace(leftOut, "");
    assert.doesNotMatch(
      text,
      /\bimport\((?!["'])/,
      `${file}: a module imported by an expression is not embedded`,
    );
    const paths = text.matchAll(/new URL\("(\.[^"]+\.\w+)", import\.meta\.url\)/g);
    return Array.from(paths, ([, path]) => new URL(path, `file://${file}`).pathname);
  }));
  const scripts = packages.map(({ name, version }) =>
    scriptsIn(`${npmCache}/registry.npmjs.org/${name}/${version}`)
  );
  return [...new Set([...files, ...named.flat(), ...(await Promise.all(scripts)).flat()])];
}

async function scriptsIn(folder: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  const found = entries.map(({ name, isDirectory }) =>
    isDirectory
      ? scriptsIn(`${folder}/${name}`)
      : /\.(js|cjs|mjs|json)$/.test(name)
      ? [`${folder}/${name}`]
      : []
  );
  return (await Promise.all(found)).flat();
}

/** Compiles a program and returns the files that `entry` needs and the executable lacks. */
async function missingFiles(
  cwd: URL | string,
  entry: string,
  { compiled = entry, options = [] }: { compiled?: string; options?: readonly string[] } = {},
): Promise<string[]> {
  const folder = await Deno.makeTempDir();
  const executable = `${folder}/executable`;
  try {
    await deno(cwd, "compile", "--no-check", ...options, "--output", executable, compiled);
    const { size } = await Deno.stat(Deno.execPath());
    // Strings with a character for each byte: Buffer.includes() takes a minute for all files. The files follow the runtime.
    const textOf = async (file: string, start = 0) =>
      Buffer.from((await Deno.readFile(file)).subarray(start)).toString("latin1");
    const embedded = await textOf(executable, size);
    const files = await neededFiles(cwd, entry);
    const contents = await Promise.all(files.map((file) => textOf(file)));
    return files.filter((_, i) => !embedded.includes(contents[i]));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const { tasks } = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));

for (const { command } of Object.values<{ command: string }>(tasks)) {
  if (!command.startsWith("deno compile ")) continue;
  const entry = command.split(" ").at(-1)!;
  const options = [...command.matchAll(/--include (\S+)/g)].flatMap(([, file]) => ["--include", file]);
  testLong(
    `the executable of ${entry} contains every module, kernel, worker and package that it needs`,
    async () => {
      assert.deepEqual(await missingFiles(root, entry, { options }), []);
    },
  );
}

testLong(
  "the check detects a missing kernel",
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/add.wgsl`, "fn add(a: f32, b: f32) -> f32 { return a + b; }\n");
    const text = `import add from "./add.wgsl" with { type: "text" };\nconsole.log(add);\n`;
    await Deno.writeTextFile(`${folder}/main.ts`, text);
    const missing = await missingFiles(folder, "main.ts", { options: ["--exclude", "add.wgsl"] });
    assert.deepEqual(missing, [`${folder}/add.wgsl`]);
    assert.deepEqual(await missingFiles(folder, "main.ts"), []);
  }),
);

testLong(
  "the check detects a missing worker",
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/worker.ts`, `console.log("a worker");\n`);
    await Deno.writeTextFile(
      `${folder}/main.ts`,
      `new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });\n`,
    );
    assert.deepEqual(await missingFiles(folder, "main.ts"), [`${folder}/worker.ts`]);
    assert.deepEqual(await missingFiles(folder, "main.ts", { options: ["--include", "worker.ts"] }), []);
  }),
);

testLong(
  "the check detects a missing package with a dynamic import",
  withFolder(async (folder) => {
    const { specifiers } = JSON.parse(await Deno.readTextFile(new URL("deno.lock", root)));
    const [[, version]] = Object.entries(specifiers).filter(([name]) => name.startsWith("npm:commander"));
    const lazy = `npm:commander@${version}`;
    await Deno.writeTextFile(`${folder}/main.ts`, `console.log(await import("${lazy}"));\n`);
    await Deno.writeTextFile(`${folder}/without.ts`, `console.log("no package");\n`);
    await Deno.writeTextFile(`${folder}/hidden.ts`, `const name = "${lazy}";\nawait import(name);\n`);
    assert.deepEqual(await missingFiles(folder, "main.ts"), []);
    const missing = await missingFiles(folder, "main.ts", { compiled: "without.ts" });
    assert.ok(missing.some((file) => file.endsWith(`/commander/${version}/index.js`)), `${missing}`);
    await assert.rejects(missingFiles(folder, "hidden.ts"), /imported by an expression is not embedded/);
  }),
);
