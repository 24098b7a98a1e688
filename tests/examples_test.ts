/**
 * Examples on pages, in `examples/` and in doc comments name their solver method, and evaluate on held-out
 * data.
 */
import assert from "node:assert/strict";

const root = new URL("..", import.meta.url);

/** Files below a folder with a given name ending. */
async function* filesOf(folder: string, ending: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, root))) {
    if (isDirectory) yield* filesOf(`${folder}/${name}`, ending);
    else if (name.endsWith(ending)) yield `${folder}/${name}`;
  }
}

interface Example {
  /** A file, and the index of the example in it. */
  readonly name: string;
  readonly program: string;
  /** The output that a page shows after the program. */
  readonly output?: string;
}

async function allExamples(): Promise<Example[]> {
  const found: Example[] = [];
  const pages = ["README.md", "CONTRIBUTING.md", ...await Array.fromAsync(filesOf("docs", ".md"))];
  for (const file of [...pages, "mod.ts", ...await Array.fromAsync(filesOf("src", ".ts"))]) {
    const text = await Deno.readTextFile(new URL(file, root));
    const plain = file.endsWith(".md") ? text : text.replace(/^ *\* ?/gm, "");
    const blocks = plain.matchAll(/^```ts.*\n([^]*?)^```\n(?:\s*```text\n([^]*?)```)?/gm);
    for (const [, program, output] of blocks) {
      found.push({ name: `${file}, example ${found.length}`, program, output });
    }
  }
  for await (const file of filesOf("examples", ".ts")) {
    found.push({ name: file, program: await Deno.readTextFile(new URL(file, root)) });
  }
  return found;
}

/** Arguments of each call of a function, as text. */
function callsOf(program: string, name: RegExp): string[] {
  return Array.from(program.matchAll(name), ({ index, 0: start }) => {
    let end = index + start.length;
    for (let depth = 1; depth > 0 && end < program.length; end++) {
      depth += program[end] === "(" ? 1 : program[end] === ")" ? -1 : 0;
    }
    return program.slice(index + start.length, end - 1);
  });
}

/** Whether the options of a solve name a method, directly or by a constant of the program. */
function namesMethod(call: string, program: string): boolean {
  if (/\bmethod\b|\bsteps\b/.test(call)) return true;
  const options = /,\s*(\w+),?\s*$/.exec(call)?.[1];
  return options !== undefined && new RegExp(`const ${options} = \\{[^}]*\\bmethod\\b`).test(program);
}

const examples = await allExamples();

Deno.test("examples that call odeint or cdeint name the method", () => {
  const calls = examples.flatMap(({ name, program }) =>
    callsOf(program, /\b(?:odeint|cdeint)\(/g).map((call) => ({ name, call, program }))
  );
  assert.ok(calls.length >= 8, `${calls.length} calls`);
  const without = calls.filter(({ call, program }) => !namesMethod(call, program));
  assert.deepEqual(without.map(({ name, call }) => `${name}: ${call}`), []);
});

Deno.test("examples evaluate on held-out data, print at least two digits and reach 95 % accuracy", () => {
  const printing = examples.filter(({ program }) =>
    callsOf(program, /console\.log\(/g).some((call) => /accuracy|loss/.test(call))
  );
  assert.ok(printing.length >= 3, `${printing.length} examples`);
  for (const { name, program, output } of printing) {
    assert.match(program, /held-out accuracy|test accuracy/, name);
    const digits = Array.from(program.matchAll(/\.toFixed\((\d+)\)/g), ([, count]) => Number(count));
    assert.ok(digits.every((count) => count >= 2), `${name} rounds to ${digits} digits`);
    if (output === undefined) continue;
    const measured = /^held-out accuracy (\d\.\d{2,})$/m.exec(output)?.[1];
    assert.ok(Number(measured) >= 0.95, `${name} prints ${output}`);
  }
});

Deno.test("docs/guides/extending.md defines a path, a method, a rule and an experiment in 40 lines each", () => {
  const kinds = /: (Path \{|ButcherTableau =|LearningRule =|Experiment<)/;
  const programs = examples.filter(({ name, program }) =>
    name.startsWith("docs/guides/extending.md") && kinds.test(program)
  );
  assert.equal(programs.length, 4);
  for (const { name, program } of programs) assert.ok(program.trim().split("\n").length <= 40, name);
});
