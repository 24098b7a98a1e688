/** The columns of a visitor's table. */
import assert from "node:assert/strict";
import { readColumns } from "../../web/columns.ts";

const rolesOf = async (text: string) => (await readColumns(new File([text], "table.csv"))).roles;

Deno.test("the roles of columns are recognised by common names in any case", async () => {
  const layout = "observations";
  const plain = { task: "classify", layout, series: "series", time: "time", label: "label" };
  assert.deepEqual(await rolesOf("series,time,x,label\na,0,1,up\n"), plain);
  const other = { task: "classify", layout, series: "Patient", time: "Date", label: "Class" };
  assert.deepEqual(await rolesOf("Date;Patient;rate;Class\n2024-01-01;p;1,5;ill\n"), other);
  const lines = '{"id":"a","t":0,"x":1,"target":"up"}\n{"id":"a","t":1,"x":2,"target":"up"}\n';
  assert.deepEqual(await rolesOf(lines), {
    task: "classify",
    layout,
    series: "id",
    time: "t",
    label: "target",
  });
});

Deno.test("a table without times has a series in each row", async () => {
  const { layout, time } = await rolesOf("label,0,1,2\nup,1,2,3\n");
  assert.deepEqual([layout, time], ["rows", undefined]);
});

Deno.test("the first rows of a long table are read, with quoted fields, and without a row that is cut off", async () => {
  const rows = Array.from({ length: 20_000 }, (_, i) => `s,${i},"a, b"`);
  const { names, rows: first } = await readColumns(
    new File([["series,time,note", ...rows].join("\n")], "t.csv"),
  );
  assert.deepEqual(names, ["series", "time", "note"]);
  assert.deepEqual(first, [0, 1, 2, 3, 4].map((i) => ["s", `${i}`, "a, b"]));
});

Deno.test("a table of numbers without a class is for forecasts, unless a text may be the class", async () => {
  const taskOf = async (text: string) => (await rolesOf(text)).task;
  assert.equal(await taskOf("date,sales\n2026-01-01,3\n2026-01-02,\n"), "forecast");
  assert.equal(await taskOf("series,time,x,result\na,0,1,up\n"), "classify");
  assert.equal(await taskOf("name,0,1,2\na,1,2,3\n"), "classify");
});
