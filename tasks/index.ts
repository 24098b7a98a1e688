/** Writes docs/internals/index.md: lists of primitives, methods, layers, models and errors, made from the code. */
import { readdir } from "node:fs/promises";
import { command, main } from "../src/commands/command.ts";
import * as models from "../src/models/mod.ts";
import * as nn from "../src/nn/mod.ts";
import { adamsMethods, adaptiveMethods, fixedMethods, implicitMethods } from "../src/solvers/methods.ts";
import { reversibleHeun } from "../src/solvers/methods/reversible_heun.ts";
import type { RungeKutta } from "../src/solvers/tableaus.ts";
import type { Primitive } from "../src/tensor/primitive.ts";
import { markdownTable } from "./markdown.ts";

const root = new URL("../", import.meta.url);
const read = (path: string) => Deno.readTextFile(new URL(path, root));

/** The page, from the root of the repository. */
export const indexFile = "docs/internals/index.md";

/** Paths and texts of the files of code below a folder, in alphabetical order. */
async function filesIn(folder: string): Promise<[path: string, text: string][]> {
  const names = await readdir(new URL(folder, root), { recursive: true });
  const paths = names.filter((name) => name.endsWith(".ts")).sort().map((name) => `${folder}/${name}`);
  return await Promise.all(paths.map(async (path): Promise<[string, string]> => [path, await read(path)]));
}

/** An exported function or constant. */
interface Declaration {
  readonly name: string;
  readonly path: string;
  /** Its doc comment in one line. */
  readonly doc: string;
}

/** The exported functions and constants of files, by name. */
function declarationsIn(files: readonly [string, string][]): Map<string, Declaration> {
  const pattern = /(?:\/\*\*((?:(?!\*\/)[^])*)\*\/\n)?export (?:async )?(?:function|const) (\w+)/g;
  return new Map(
    files.flatMap(([path, text]) =>
      Array.from(text.matchAll(pattern), ([, doc = "", name]) => [name, { name, path, doc: oneLine(doc) }])
    ),
  );
}

const oneLine = (doc: string) =>
  doc.replaceAll(/\s*\n\s*\*?\s*/g, " ").replaceAll(/\{@linkcode (\w+)\}/g, "`$1`").trim();
const firstSentence = (text: string) => /^.*?[.:](?= [^\da-z]|$)/.exec(text)![0].replace(/:$/, ".");
const linkTo = (label: string, path: string) => `[${label}](../../${path})`;

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = rows.map((row) => row.map((cell) => `${cell}`.replaceAll("|", "\\|")));
  return markdownTable([head, ...cells], head.map((_, column) => column));
}

// deno-lint-ignore no-explicit-any
const isPrimitive = (value: unknown): value is Primitive<any> =>
  typeof value === "object" && value !== null && "infer" in value && "reverse" in value;

/** A rule of a primitive: the name of an operation, `"zero"`, "rule" for a function, or the reason for a missing rule. */
function ruleText(rule: string | { none: string } | ((...args: never[]) => unknown)): string {
  return typeof rule === "string" ? rule : typeof rule === "function" ? "rule" : `none: ${rule.none}`;
}

async function primitiveRows(): Promise<string[][]> {
  const files = [...await filesIn("src/tensor/primitives"), ...await filesIn("src/paths")];
  const rows = await Promise.all(files.map(async ([path]) => {
    const { cast, ...others } = await import(new URL(path, root).href);
    const found = [...Object.values(others), cast?.("float32")].filter(isPrimitive);
    return found.map(({ name, reverse, batch, lower }) => [
      linkTo(name, path),
      ...[reverse, batch, lower].map(ruleText),
    ]);
  }));
  return rows.flat();
}

/**
 * The order of a Runge-Kutta method with some weights of the stages: the number of nodes up to which every rooted tree satisfies
 * its order condition. (Hairer, Norsett, Wanner, "Solving Ordinary Differential Equations I", section II.2.)
 */
export function orderOf(
  method: Pick<RungeKutta, "a" | "c"> & { readonly diagonal?: number },
  weights: readonly number[],
): number {
  const { a, c, diagonal = 0 } = method;
  const dot = (x: readonly number[], y: readonly number[]) => x.reduce((sum, x, i) => sum + x * y[i], 0);
  /** Values of a tree in the stages, as a child of another tree. */
  const trees: { nodes: number; values: number[]; density: number }[] = [];
  for (let order = 1;; order++) {
    const grown: typeof trees = [];
    /** Adds children to a root until its tree has all nodes. Children are in the order of `trees`. */
    const grow = (nodes: number, first: number, values: number[], density: number): void => {
      if (nodes === order) {
        grown.push({ nodes, values, density: density * nodes });
        return;
      }
      for (const [i, child] of trees.entries()) {
        if (i < first || nodes + child.nodes > order) continue;
        grow(nodes + child.nodes, i, values.map((x, s) => x * child.values[s]), density * child.density);
      }
    };
    grow(1, 0, c.map(() => 1), 1);
    if (grown.some(({ values, density }) => Math.abs(dot(weights, values) - 1 / density) > 1e-9)) {
      return order - 1;
    }
    for (const { values, ...tree } of grown) {
      const inStages = values.map((x, s) => s === 0 ? 0 : dot(a[s - 1], values) + diagonal * x);
      trees.push({ ...tree, values: inStages });
    }
  }
}

async function methodRows(): Promise<(string | number)[][]> {
  const declarations = declarationsIn(await filesIn("src/solvers"));
  const source = (name: string) => {
    const constant = name.replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase());
    const { path, doc } = declarations.get(constant)!;
    return [linkTo(name, path), /^.*?\.\)/.exec(doc)?.[0] ?? firstSentence(doc)] as const;
  };
  const tableaus = [...fixedMethods, ...adaptiveMethods, ...implicitMethods].map((method) => {
    const [link, text] = source(method.name);
    const embedded = "error" in method ? method.b.map((weight, i) => weight - method.error[i]) : undefined;
    const orders = [orderOf(method, method.b), embedded ? orderOf(method, embedded) : "-"];
    return [link, orders[0], method.c.length, orders[1], text];
  });
  const others = [...adamsMethods, reversibleHeun].map(({ name, order }) => {
    const [link, text] = source(name);
    return [link, order, "-", "-", text];
  });
  return [...tableaus, ...others];
}

/** The exported functions of a module with a capital letter: they make layers or models. */
function makersOf(module: object, declarations: ReadonlyMap<string, Declaration>): Declaration[] {
  const names = Object.keys(module).filter((name) => /^[A-Z]/.test(name) && declarations.has(name));
  return names.sort().map((name) => declarations.get(name)!);
}

/** Numbers of equations by the name of a function, with the first author and the year of the paper. */
async function equationsByName(): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const section of (await read("docs/research/equations.md")).split(/^## /m).slice(1)) {
    const paper = `${/\n\n(\w+),/.exec(section)![1]} ${/\b(20\d\d)\.\n/.exec(section)![1]}`;
    const numbers = new Map<string, string[]>();
    for (const [, number, row] of section.matchAll(/^\| (\d+) +\|(.*)$/gm)) {
      for (const [, name] of row.matchAll(/\[`(\w+)`\]/g)) {
        numbers.set(name, [...numbers.get(name) ?? [], number]);
      }
    }
    for (const [name, all] of numbers) {
      found.set(name, [...found.get(name) ?? [], `${paper}: ${all.join(", ")}`]);
    }
  }
  return found;
}

async function modelRows(): Promise<string[][]> {
  const equations = await equationsByName();
  return makersOf(models, declarationsIn(await filesIn("src/models"))).map(({ name, path, doc }) => [
    linkTo(`\`${name}\``, path),
    equations.get(name)?.join("; ") ?? "-",
    /\(([^()]*\b(?:19|20)\d\d\b[^()]*)\)/.exec(doc)?.[1] ?? "-",
  ]);
}

async function errorRows(): Promise<string[][]> {
  const definition = "src/device/errors.ts";
  const files = (await filesIn("src")).filter(([path]) => path !== definition);
  const codes = (await read(definition)).matchAll(/\/\*\*((?:(?!\*\/)[^])*)\*\/\n {2}\| "([\w-]+)"/g);
  return Array.from(codes, ([, comment, code]) => {
    const doc = oneLine(comment);
    const meaning = firstSentence(doc);
    // Neither comments nor comparisons.
    const thrown = new RegExp(`^(?!\\s*\\*).*(?<![!=]= )"${code}"`, "m");
    const paths = files.filter(([, text]) => thrown.test(text)).map(([path]) => path.slice("src/".length));
    return [`\`${code}\``, meaning, doc.slice(meaning.length + 1), paths.join(", ")];
  });
}

/** The text of the page. */
export async function indexPage(): Promise<string> {
  const layers = makersOf(nn, declarationsIn(await filesIn("src/nn")));
  return `${
    [
      "# Index",
      "`deno task index` writes this page from the code.",
      "## Primitives",
      "Gradient, batching and the operation in compiled loops, of each [primitive](../../src/tensor/primitive.ts).",
      table(["primitive", "gradient", "batching", "in loops"], await primitiveRows()),
      "## Methods",
      "Orders of Runge-Kutta methods are computed from their coefficients. `reversible_` and the name of an explicit\nmethod select its [reversible form](../../src/solvers/adjoints/reversible_runge_kutta.ts).",
      table(["method", "order", "stages", "embedded order", "source"], await methodRows()),
      "## Layers",
      table(
        ["layer", "content"],
        layers.map(({ name, path, doc }) => [linkTo(`\`${name}\``, path), firstSentence(doc)]),
      ),
      "## Models",
      "Numbers of equations are those of [equations.md](../research/equations.md).",
      table(["model", "equations", "paper"], await modelRows()),
      "## Errors",
      "Codes of [`WeftError`](../../src/device/errors.ts). [own_data.md](../start/own_data.md#errors) describes the\nfields of an error. Files that throw a code are below `src/`.",
      table(["code", "meaning", "way out", "thrown by"], await errorRows()),
    ].join("\n\n")
  }\n`;
}

/** `deno task index`. */
async function index(args: string[]): Promise<number> {
  command("index", `Writes ${indexFile}: lists of primitives, methods, layers, models and errors.`)
    .parse(args, { from: "user" });
  await Deno.writeTextFile(new URL(indexFile, root), await indexPage());
  return 0;
}

if (import.meta.main) await main(index);
