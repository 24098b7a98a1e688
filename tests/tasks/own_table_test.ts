import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { testLong } from "../devices.ts";
import { onlyRun, runTask, withFolder } from "./command_line.ts";

/**
 * A table in the spreadsheet format of some countries: rising and falling heights, a ward, an age, a note.
 */
function rows(count: number, isLabelled: boolean): string[][] {
  const body = Array.from({ length: count }, (_, i) =>
    Array.from({ length: 5 }, (_, t) => [
      `p${i}`,
      `2024-03-0${t + 1} 12:00`,
      `${(i % 2 ? t : -t) + 0.25}`.replace(".", ","),
      (i + t) % 2 ? "icu" : "er",
      `${30 + i}`,
      `note ${i} ${t}`,
      ...(isLabelled ? [i % 2 ? "up" : "down"] : []),
    ])).flat();
  return [["id", "at", "height", "ward", "age", "note", ...(isLabelled ? ["outcome"] : [])], ...body];
}

const write = (table: string[][], delimiter: string) => table.map((row) => row.join(delimiter)).join("\n");

testLong(
  "flags map column names, train prints the mapping, and later tables of any format are read in the same way",
  withFolder(async (folder) => {
    const [data, out] = [`${folder}/own.csv`, `${folder}/runs`];
    await Deno.writeTextFile(data, write(rows(20, true), ";"));
    const { stdout, stderr } = await runTask(
      "train",
      ...["own-series", "--data", data, "--out", out, "--device", "cpu", "--epochs", "1", "--hidden", "4"],
      ...["--series", "id", "--time", "at", "--target", "outcome", "--static", "age", "--scaling", "robust"],
    );
    const summary = stdout.slice(0, stdout.indexOf("epoch 1"));
    for (
      const line of [
        /20 series of 5 observations/,
        /times: dates from 2024-03-01 12:00 to 2024-03-05 12:00; 1 day apart/,
        /channels: height, ward=er, ward=icu, age \(static\)/,
        /classes: down \(10\), up \(10\)/,
        /left out: column "note" \(text of 100 different values\)/,
        /fields are separated by ";"/,
        /numbers have a decimal comma/,
      ]
    ) assert.match(summary, line, stderr);
    const run = await onlyRun(out, "own-series");
    const record = JSON.parse(await Deno.readTextFile(`${run}/data.json`));
    assert.deepEqual(record.columns, { height: "number", ward: ["er", "icu"], age: "number", note: "text" });
    assert.deepEqual(record.channels[1], {
      ...{ name: "ward=er", kind: "category", column: "ward", mean: 0, standardDeviation: 1 },
    });

    const fresh = `${folder}/new`;
    const predict = async (content: string) => {
      await Deno.writeFile(fresh, gzipSync(content));
      return await runTask("predict", run, fresh, "--device", "cpu");
    };
    const plain = rows(4, false);
    const expected = await predict(write(plain, ";"));
    assert.equal(expected.stdout.trimEnd().split("\n").length, 4, expected.stderr);
    const [header, ...body] = plain.map((row) => row.map((field) => field.replace(",", ".")));
    const objects = body.toReversed().map((row) =>
      JSON.stringify(Object.fromEntries(row.map((field, i) => [header[i], field])))
    );
    const sorted = (text: string) => text.split("\n").sort();
    assert.deepEqual(sorted((await predict(objects.join("\n"))).stdout), sorted(expected.stdout));
    const differing: [change: (text: string) => string, message: RegExp][] = [
      [
        (text) => text.replaceAll("icu", "home"),
        /line 3: expected one of "er", "icu" in column "ward", got "home"/,
      ],
      [
        (text) => text.replace("ward", "unit"),
        /no column "ward", unknown column "unit"; the model reads "height", "ward", "age"/,
      ],
      [
        (text) => text.replaceAll("2024-03-0", "").replaceAll(" 12:00", ""),
        /times are numbers, expected dates as in training/,
      ],
      [(text) => text.replace("at", "when"), /no column "at" among .*--time/],
    ];
    for (const [change, message] of differing) {
      const { code, stderr } = await predict(change(write(plain, ";")));
      assert.equal(code, 1);
      assert.match(stderr, message);
    }

    // The same values under other names, with labels, another delimiter and another marker of missing values.
    const labelled = rows(4, true);
    const bare = labelled.map((row, i) => i === 3 ? row.with(2, "") : row);
    const renamedColumns = ["who", "when", ...labelled[0].slice(2, 6), "result"];
    const marked = bare.map((row, i) => i === 0 ? renamedColumns : i === 3 ? row.with(2, "-999.0") : row);
    const names = ["--series", "who", "--time", "when", "--target", "result"];
    const flags = [
      ...names,
      "--missing",
      "gone,-999",
      "--delimiter",
      "|",
      "--decimal",
      ",",
      "--device",
      "cpu",
    ];
    await Deno.writeTextFile(fresh, write(bare, ";"));
    const plainly = await runTask("predict", run, fresh, "--device", "cpu");
    await Deno.writeTextFile(fresh, write(marked, "|").replace("-999.0", "-999,0"));
    const flagged = await runTask("predict", `${out}/own-series`, fresh, ...flags);
    assert.equal(flagged.stdout, plainly.stdout, flagged.stderr);
    const answers = flagged.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
    const csv = await runTask("predict", run, fresh, ...flags, "--format", "csv");
    assert.equal(
      csv.stdout.trimEnd(),
      ["series,label,probability,probability of down,probability of up"].concat(
        answers.map(({ series, label, probability, probabilities: { down, up } }) =>
          [series, label, probability, down, up].join()
        ),
      ).join("\n"),
    );
    // Metrics and predictions agree, and the probabilities of each series sum to one.
    let logLoss = 0;
    answers.forEach(({ probabilities: { down, up } }, i) => {
      assert.ok(Math.abs(down + up - 1) < 1e-12);
      logLoss -= Math.log(i % 2 ? up : down) / answers.length;
    });
    const evaluate = (...options: string[]) => runTask("evaluate", run, ...options);
    const measured = await evaluate("--data", fresh, ...flags);
    assert.match(measured.stdout, /^all of .*new: 4 series\n/, measured.stderr);
    const printed = Number(/test log loss (\S+)/.exec(measured.stdout)?.[1]);
    assert.ok(Math.abs(printed / logLoss - 1) < 1e-3, `${printed} printed, ${logLoss} from predictions`);
    const withSeries = await evaluate("--series", "who");
    assert.equal(withSeries.code, 1);
    assert.match(withSeries.stderr, /--series describes another table; set --data to its path/);
  }),
);

testLong("table options are rejected by name for experiments without a table", async () => {
  const { code, stderr } = await runTask("train", "sine", "--series", "id", "--wide");
  assert.equal(code, 1);
  assert.match(stderr, /sine has no option --series, --wide;/);
});
