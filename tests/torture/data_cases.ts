/** Damaged and unusual archives and tables. */
import { parseUea } from "../../src/data/uea.ts";
import { zipFile, type ZippedFile } from "../data/zip_file.ts";
import { damageBytes } from "./bytes.ts";
import type { Choices } from "./choices.ts";
import { callHere, faultOfOutcome, timelessOutput } from "./commands.ts";
import { callOf, shortTraining, type World } from "./world.ts";

type CaseReport = [what: string, fault?: string];

/** An archive with a fault in its bytes, or a valid archive of a text with a fault. */
export async function archiveCase(world: World, choices: Choices, scratch: string): Promise<CaseReport> {
  const whole = await Deno.readFile(world.archive);
  const isOfBytes = choices.chance(0.6);
  const { what, bytes } = isOfBytes ? damageBytes(whole, choices) : await damageEntries(world, choices);
  const path = `${scratch}/characters.zip`;
  await Deno.writeFile(path, bytes);
  if (isOfBytes) {
    // Either the written data are read, or an error is thrown. Then training is not needed for each case.
    const expected = await parseUea(whole, path);
    const set = await parseUea(bytes, path).catch(() => undefined);
    if (set && Deno.inspect(set, deeply) !== Deno.inspect(expected, deeply)) {
      return [`archive ${what}`, "other series are read"];
    }
    if (set && choices.chance(0.8)) return [`archive ${what}`];
  }
  const args = ["character-trajectories", "--data", path, "--out", `${scratch}/runs`, ...shortTraining];
  return [`archive ${what}; train`, faultOfOutcome(await callHere({ command: "train", args }))];
}

const deeply = { depth: Infinity, iterableLimit: Infinity, strAbbreviateSize: Infinity };

async function damageEntries(
  { problem }: World,
  choices: Choices,
): Promise<{ what: string; bytes: Uint8Array }> {
  const names = (await Array.fromAsync(Deno.readDir(problem))).map(({ name }) => name).sort();
  const files: ZippedFile[] = await Promise.all(
    names.map(async (name) => ({ name, content: await Deno.readFile(`${problem}/${name}`) })),
  );
  const at = choices.below(files.length);
  const file = files[at];
  const change = (changed: Partial<ZippedFile>) => files.with(at, { ...file, ...changed });
  const text = new TextDecoder().decode(file.content as Uint8Array);
  const faults: (() => { what: string; files: readonly ZippedFile[] })[] = [
    () => {
      const { what, bytes } = damageBytes(file.content as Uint8Array, choices);
      return { what: `with ${file.name} ${what}`, files: change({ content: bytes }) };
    },
    () => {
      const { what, text: damaged } = damageText(text, choices, /[,:]/);
      return { what: `with ${file.name} ${what}`, files: change({ content: damaged }) };
    },
    () => {
      const claimedSize = choices.of([0, 1, 100, 2 ** 28, 2 ** 31, 2 ** 32 - 1]);
      return { what: `with ${file.name} declared as ${claimedSize} bytes`, files: change({ claimedSize }) };
    },
    () => ({ what: `with an encrypted ${file.name}`, files: change({ isEncrypted: true }) }),
    () => ({ what: `with ${file.name} twice`, files: [...files, file] }),
    () => ({ what: `without ${file.name}`, files: files.toSpliced(at, 1) }),
    () => ({
      what: "with a bomb",
      files: change({ content: new Uint8Array(2 ** 24).fill(choices.of([0, 10, 44, 58])) }),
    }),
    () => ({ what: "in folders", files: files.map((one) => ({ ...one, name: `a/b/${one.name}` })) }),
    () => ({
      what: "with an odd name",
      files: change({
        name: choices.of([
          "",
          "/",
          "..",
          "../../x_TRAIN.ts",
          "\0_TRAIN.ts",
          "a\nb_TEST.ts",
          file.name.repeat(50),
        ]),
      }),
    }),
    () => ({
      what: "from macOS",
      files: [
        ...files,
        ...files.map(({ name }) => ({ name: `__MACOSX/._${name}`, content: "\0\x05\x16\x07" })),
      ],
    }),
    () => ({ what: "without files", files: [] }),
  ];
  const { what, files: damaged } = choices.of(faults)();
  return { what, bytes: zipFile(damaged) };
}

const oddFields: readonly string[] = [
  "",
  "NaN",
  "nan",
  "?",
  "inf",
  "-Infinity",
  "1e400",
  "1e308",
  "-1e308",
  "3e38",
  "0x1F",
  "1,5",
  "1_000",
  "--1",
  "1e",
  "true",
  "null",
  "undefined",
  "2024-02-31",
  "2024-13-01",
  "20240531",
  "1970-01-01T00:00:00Z",
  '"',
  '"a',
  "=1+1",
  "\u0000",
  "\uFFFD",
  "\u202E",
  "\u001b[2J",
  "\u009b2J",
  "NA",
  '"None"',
  "x".repeat(5000),
  " ",
  "\t",
  "💥",
  "__proto__",
  "constructor",
  "label",
  "series",
  "9007199254740993",
  "1e-320",
];

/** A text with one changed field or line. `separators` separate fields. */
function damageText(text: string, choices: Choices, separators: RegExp): { what: string; text: string } {
  const lines = text.split("\n");
  const line = choices.below(lines.length);
  const parts = lines[line].split(new RegExp(`(${separators.source})`));
  const odd = choices.of(oddFields);
  const changes: (() => { what: string; lines: string[] })[] = [
    () => {
      const field = 2 * choices.below(Math.ceil(parts.length / 2));
      return {
        what: `field ${field / 2 + 1} of line ${line + 1} is ${JSON.stringify(odd.slice(0, 20))}`,
        lines: lines.with(line, parts.with(field, odd).join("")),
      };
    },
    () => ({ what: `without line ${line + 1}`, lines: lines.toSpliced(line, 1) }),
    () => ({ what: `with line ${line + 1} twice`, lines: lines.toSpliced(line, 0, lines[line]) }),
    () => ({
      what: `with line ${line + 1} in place of another`,
      lines: lines.with(choices.below(lines.length), lines[line]),
    }),
    () => ({
      what: `a separator missing in line ${line + 1}`,
      lines: lines.with(line, lines[line].replace(separators, "")),
    }),
    () => ({
      what: `ends in line ${line + 1}`,
      lines: [...lines.slice(0, line), lines[line].slice(0, choices.below(20))],
    }),
    () => ({ what: "Windows line endings", lines: lines.map((one) => `${one}\r`) }),
    () => ({ what: "empty lines", lines: lines.flatMap((one) => [one, ""]) }),
    () => ({ what: "a byte order mark", lines: lines.with(0, `\uFEFF${lines[0]}`) }),
  ];
  const { what, lines: changed } = choices.chance(0.5) ? changes[0]() : choices.of(changes)();
  return { what, text: changed.join("\n") };
}

/** A damaged or unusual table, used to train, to evaluate or to classify. */
export async function tableCase(world: World, choices: Choices, scratch: string): Promise<CaseReport> {
  const use = choices.of(["train", "evaluate", "predict"] as const);
  const source = await Deno.readTextFile(use === "predict" ? world.unlabelled : world.table);
  const path = `${scratch}/table.csv`;
  const series = world.runs.find(({ name }) => name === "series")!;
  const reordered = choices.chance(0.2) ? reorder(source, choices) : undefined;
  const format = choices.of(formats);
  const isText = choices.chance(0.6);
  const damaged = damageText(source, choices, /,/);
  const { what, bytes } = reordered
    ? { what: reordered.what, bytes: new TextEncoder().encode(reordered.text) }
    : isText
    ? { what: damaged.what, bytes: await format(damaged.text) }
    : damageBytes(await format(source), choices);
  await Deno.writeFile(path, bytes);
  const call = use === "train"
    ? { command: use, args: ["own-series", "--data", path, "--out", `${scratch}/runs`, ...shortTraining] }
    : use === "evaluate"
    ? callOf({ command: use, args: ["--data", path, "--device", "cpu"] }, series.path)
    : callOf({ command: use, args: [path, "--device", "cpu"] }, series.path);
  const outcome = await callHere(call);
  const description = `table ${reordered ? "" : `${format.name} `}${what}; ${use}`;
  const fault = faultOfOutcome(outcome);
  // A damaged compressed file either gives the original data, or is rejected.
  const isSame = reordered || format === gzip && !isText && outcome.code === 0;
  if (fault || !isSame || use !== "predict") return [description, fault];
  const known = series.uses.find(({ command }) => command === "predict")!.result.timelessOutput;
  const sorted = (text: string) => text.split("\n").sort().join("\n");
  return [
    description,
    sorted(known) === sorted(timelessOutput(outcome))
      ? undefined
      : `other answers: ${outcome.stdout}${outcome.stderr}\ninstead of ${known}`,
  ];
}

/** Formats of a table. */
const formats = [csv, csv, gzip, tabs, jsonLines] as const;

function csv(text: string): Promise<Uint8Array> {
  return Promise.resolve(new TextEncoder().encode(text));
}

async function gzip(text: string): Promise<Uint8Array> {
  return await new Response(new Response(text).body!.pipeThrough(new CompressionStream("gzip"))).bytes();
}

function tabs(text: string): Promise<Uint8Array> {
  return csv(text.replaceAll("\t", " ").replaceAll(",", "\t"));
}

/** A row is an object. Numeric fields are JSON numbers if possible. */
function jsonLines(text: string): Promise<Uint8Array> {
  const [names, ...rows] = text.trimEnd().split("\n").map((line) => line.split(","));
  const valueOf = (field = "") =>
    field === "" ? null : Number.isFinite(Number(field)) ? Number(field) : field;
  const lines = rows.map((row) => Object.fromEntries(names.map((name, i) => [name, valueOf(row[i])])));
  return csv(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

/** The same table in another format. */
function reorder(text: string, choices: Choices): { what: string; text: string } {
  const rows = text.trimEnd().split("\n").map((line) => line.split(","));
  const [header, ...body] = rows;
  const shuffled = <T>(list: readonly T[]) => {
    const left = [...list];
    return list.map(() => left.splice(choices.below(left.length), 1)[0]);
  };
  const write = (all: readonly (readonly string[])[]) => `${all.map((row) => row.join(",")).join("\n")}\n`;
  return choices.of([
    () => {
      const order = shuffled(header.map((_, i) => i));
      return { what: "columns in another order", text: write(rows.map((row) => order.map((i) => row[i]))) };
    },
    () => ({ what: "rows in another order", text: write([header, ...shuffled(body)]) }),
    () => ({ what: "fields in quotes", text: write(rows.map((row) => row.map((field) => `"${field}"`))) }),
    () => ({ what: "Windows line endings", text: write(rows).replaceAll("\n", "\r\n") }),
    () => ({ what: "a byte order mark", text: `\uFEFF${write(rows)}` }),
    () => ({
      what: "an index of pandas",
      text: write(rows.map((row, i) => [i === 0 ? "" : `${i - 1}`, ...row])),
    }),
  ])();
}
