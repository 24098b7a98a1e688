/** Numbers whose decimal sign may separate thousands, and numbers that are too large for float64. */
import assert from "node:assert/strict";
import { readTable } from "../../src/data/table/read_table.ts";

const table = (delimiter: string, ...rows: string[]) =>
  ["time,x", ...rows.map((x, time) => `${time},${x}`)].map((row) =>
    row.split(/,(.*)/s).slice(0, 2).join(delimiter)
  ).join("\n") + "\n";

const isUncertain =
  /^"(.*)" is read as (.*), with a decimal (point|comma), and could be (.*): if the .* thousands/;

const cases: readonly [delimiter: string, rows: string[], read: number, notice: string | undefined][] = [
  [";", ["1.234", "2.500"], 1.234, "1.234 1.234 point 1234"],
  ["\t", ["1.234", "2.500"], 1.234, "1.234 1.234 point 1234"],
  ["|", ["-1.234", "2.500", "7"], -1.234, "-1.234 -1.234 point -1234"],
  [";", ["1,234", "2,500"], 1.234, "1,234 1.234 comma 1234"],
  ["\t", ["12", "123,456"], 12, "123,456 123.456 comma 123456"],
  [";", ['"1.234"', '"2.500"'], 1.234, "1.234 1.234 point 1234"],
  [";", ["1.234", "2.5"], 1.234, undefined],
  [";", ["0.234", "1.500"], 0.234, undefined],
  [";", ["1.234", "1234.5"], 1.234, undefined],
  [";", ["1,234", "2,5"], 1.234, undefined],
  [";", ["1234", "2500"], 1234, undefined],
  [",", ["1.234", "2.500"], 1.234, undefined],
];

for (const [delimiter, rows, read, notice] of cases) {
  Deno.test(
    `${rows.join(" and ")} between ${JSON.stringify(delimiter)}: ${
      notice ? "a notice" : "no notice"
    } of thousands`,
    async () => {
      const text = table(delimiter, ...rows);
      const { series, notices = [] } = await readTable({ name: "t", text });
      assert.equal(series[0].values[0], read);
      const found = notices.flatMap((one) => isUncertain.exec(one)?.slice(1).join(" ") ?? []);
      assert.deepEqual(found, notice ? [notice] : []);
      const decimal = notice?.includes("comma") ? "," : ".";
      const certain = await readTable({ name: "t", text }, { delimiter: delimiter as ";", decimal }).catch(
        () => undefined,
      );
      assert.equal(certain?.notices?.some((one) => isUncertain.test(one)) ?? false, false);
    },
  );
}

const tooLarge = ["1e309", "-1e999", "1E+400"];
for (const text of tooLarge) {
  Deno.test(`${text} is reported as it is written`, async () => {
    const tables = [
      `time,x\n0,1\n1,${text}\n`,
      `time,x\n0,1\n${text},2\n`,
      `{"time":0,"x":1}\n{"time":1,"x":${text}}\n`,
      `{"time":0,"x":1}\n{"x":2,"time":${text}}\n`,
      `series,time,x,age\na,0,1,${text}\n`,
    ];
    for (const table of tables) {
      await assert.rejects(readTable({ name: "t", text: table }), (error: Error) => {
        assert.ok(error.message.includes(`got "${text}"`), error.message);
        return true;
      });
    }
  });
}
