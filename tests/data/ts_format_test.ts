import assert from "node:assert/strict";
import { DataFormatError } from "../../src/data/format.ts";
import { parseTs } from "../../src/data/ts_format.ts";

const header = "# a comment\n@problemName Pens\n@timeStamps false\n@missing true\n@dimensions 2\n" +
  "@equalLength false\n@classLabel true a b\n@data\n";

Deno.test("a .ts file gives series of different lengths with missing values as NaN", () => {
  const set = parseTs(`${header}0.5,?,2:3,4,-1e2:b\n\n# between\n7:8:a\n`, "pens.ts");
  assert.equal(set.name, "Pens");
  assert.deepEqual(set.channels, ["channel 1", "channel 2"]);
  assert.deepEqual(set.classes, ["a", "b"]);
  assert.deepEqual(set.series.map(({ label }) => label), [1, 0]);
  assert.deepEqual([...set.series[0].values], [0.5, 3, NaN, 4, 2, -100]);
  assert.deepEqual([...set.series[0].times], [0, 1, 2]);
  assert.deepEqual([...set.series[1].values], [7, 8]);
});

Deno.test("directives are read in any case and with Windows line endings", () => {
  const text = "@PROBLEMNAME x\r\n@univariate true\r\n@classlabel TRUE 1 2\r\n@DATA\r\n1,2:2\r\n";
  assert.deepEqual([...parseTs(text, "x.ts").series[0].values], [1, 2]);
});

Deno.test("channels with different times are merged onto all times", () => {
  const stamped = header.replace("@timeStamps false", "@timeStamps true");
  const { series: [one] } = parseTs(`${stamped}(0,1),(2.5,?),(4,3):(2.5,7):a\n`, "pens.ts");
  assert.deepEqual([...one.times], [0, 2.5, 4]);
  assert.deepEqual([...one.values], [1, NaN, NaN, 7, 3, NaN]);
});

Deno.test("dates with colons are read as seconds", () => {
  const stamped = header.replace("@timeStamps false", "@timeStamps true");
  const day = "2004-10-01";
  const { series: [one] } = parseTs(`${stamped}(${day} 00:01:00,1),(${day},2):(${day},3):b\n`, "pens.ts");
  assert.deepEqual([...one.times], [Date.UTC(2004, 9, 1) / 1000, Date.UTC(2004, 9, 1, 0, 1) / 1000]);
  assert.deepEqual([...one.values], [2, 3, 1, NaN]);
});

Deno.test("the last field of a .ts file for regression is a number or missing", () => {
  const set = parseTs(
    "@problemName x\n@classLabel false\n@targetLabel true\n@data\n1,2:-0.5\n3,4:?\n",
    "x.ts",
  );
  assert.deepEqual(set.targets, ["target"]);
  assert.deepEqual(set.classes, []);
  assert.deepEqual(set.series.map(({ targets }) => [...targets!]), [[-0.5], [NaN]]);
  assert.deepEqual([...set.series[1].values], [3, 4]);
});

const malformed: [name: string, text: string, line: number, message: RegExp][] = [
  ["a word among numbers", `${header}1,2:3,x:a`, 9, /number .*or \? as value 2 of channel 2, got "x"/],
  ["an empty value", `${header}1,:3,4:a`, 9, /number .*or \? as value 2 of channel 1, got nothing/],
  ["an infinite value", `${header}1,2:3,inf:a`, 9, /number .*or \?/],
  ["a hexadecimal value", `${header}1,0x1F:3,4:a`, 9, /number .*or \? .* got "0x1F"/],
  [
    "a number among dates",
    `${header.replace("@timeStamps false", "@timeStamps true")}(2004-10-01,1),(5,2):(5,3):a`,
    9,
    /expected a date, as before, as time 2 of channel 1, got "5"/,
  ],
  ["a value beyond float32", `${header}1,1e300:3,4:a`, 9, /a number up to 3.4e\+38 .* got "1e300"/],
  ["an unknown class", `${header}1:2:a\n1:2:c`, 10, /one of the classes a, b after the last colon, got "c"/],
  ["a truncated line", `${header}1,2:3`, 9, /one of the classes/],
  ["too few channels", `${header}1,2:a`, 9, /expected 2 channels and a class between colons, got 1/],
  ["channels of different lengths", `${header}1,2:3:a`, 9, /channel 2 has 1 values, expected 2/],
  ["an unknown directive", "@problem x\n", 1, /unknown directive "@problem"; expected @problemName/],
  ["data before the header", "1,2:3,4:a\n", 1, /expected a directive/],
  [
    "no classes",
    "@problemName x\n@data\n",
    2,
    /expected either @classLabel true and the classes or @targetLabel true/,
  ],
  [
    "classes and a target",
    `@targetLabel true\n${header}`,
    9,
    /either @classLabel true .* or @targetLabel true/,
  ],
  [
    "a word as a target",
    "@targetLabel true\n@data\n1,2:high",
    3,
    /number .* after the last colon, got "high"/,
  ],
  ["a truncated target", "@targetLabel true\n@data\n1,2:3\n1,2:", 4, /after the last colon, got nothing/],
  [
    "an invalid flag",
    "@timeStamps maybe\n",
    1,
    /expected true or false after @timeStamps, got "maybe"/,
  ],
  [
    "an invalid length",
    "@dimensions two\n",
    1,
    /positive whole number after @dimensions, got "two"/,
  ],
  ["no @data", "@problemName x\n", 2, /ends before @data/],
  ["no series", header, 9, /without a series/],
  [
    "different lengths in spite of @equalLength",
    `${header.replace("@equalLength false", "@equalLength true")}1:2:a\n1,2:3,4:b`,
    10,
    /expected 1 observations, as @equalLength promises, got 2/,
  ],
  [
    "a pair without a comma",
    `${header.replace("@timeStamps false", "@timeStamps true")}(0,1),(1):(0,1):a`,
    9,
    /expected \(time,value\) pairs in channel 1, got "\(1\)"/,
  ],
  [
    "a time twice",
    `${header.replace("@timeStamps false", "@timeStamps true")}(0,1),(0,2):(0,1):a`,
    9,
    /channel 1 has two values at time 0/,
  ],
];

for (const [name, text, line, message] of malformed) {
  Deno.test(`a .ts file with ${name} is rejected with its line`, () => {
    assert.throws(() => parseTs(text, "pens.ts"), (error) => {
      assert(error instanceof DataFormatError);
      assert.equal(error.row, line);
      assert.match(error.message, message);
      assert(error.message.startsWith(`pens.ts, line ${line}: `));
      return true;
    });
  });
}

Deno.test("bytes are decoded as text", () => {
  const text = "@problemName Stifte é\r\n@classLabel true a b\n@data\n1,2,?:a\n3,4:b";
  assert.deepEqual(parseTs(new TextEncoder().encode(text), "pens.ts"), parseTs(text, "pens.ts"));
  assert.throws(() => parseTs(new TextEncoder().encode(`${text}\n1:c`), "pens.ts"), /pens\.ts, line 6/);
});
