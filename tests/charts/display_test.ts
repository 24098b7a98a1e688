import assert from "node:assert/strict";
import { makeFigure, tableBundle } from "../../src/charts/display.ts";
import { displayAs } from "../../src/charts/display_symbol.ts";
import { drawImage } from "../../src/charts/image.ts";
import { displayOf, rowsOf } from "../display.ts";

Deno.test("texts of tables in notebooks are escaped in HTML alone", () => {
  const bundle = tableBundle("<b>", { title: "<b>", head: ["a", "<i>"], rows: [["x", "<u>&"]] });
  assert.equal(bundle["text/plain"], "<b>");
  assert.match(bundle["text/html"], /^<div class="weft"><p>&#60;b&#62;<\/p>/);
  assert.deepEqual(rowsOf(bundle["text/html"]), [["a", "&#60;i&#62;"], ["x", "&#60;u&#62;&#38;"]]);
});

Deno.test("comparisons and copies ignore the method for notebooks", async () => {
  const value = displayAs({ a: 1 }, () => ({ "text/plain": "one" }));
  assert.deepEqual(await displayOf(value), { "text/plain": "one" });
  assert.deepEqual(value, { a: 1 });
  assert.equal(Deno.inspect(value), "{ a: 1 }");
  assert.deepEqual(Object.getOwnPropertySymbols({ ...value }), []);
});

Deno.test("a figure draws its picture when it is shown", async () => {
  let drawn = 0;
  const figure = makeFigure("a < b", async () => {
    drawn++;
    return await Promise.resolve("<svg/>");
  });
  assert.deepEqual([`${figure}`, Deno.inspect(figure), drawn], ["a < b", "a < b", 0]);
  assert.deepEqual(await displayOf(figure), { "text/plain": "a < b", "image/svg+xml": "<svg/>" });
  assert.equal(await figure.svg(), "<svg/>");
});

Deno.test("an image of three channels has the colours of red, green and blue", () => {
  const svg = drawImage({
    name: "x",
    width: 2,
    channels: 3,
    pixels: [1, 0, 0.2, 1, 0, 0.2, 0, 0, NaN, 0, 1, 2],
  });
  assert.match(svg, /viewBox="0 0 2 2"/);
  assert.deepEqual([...svg.matchAll(/<path fill="(#\w+)" d="(M\d,\dh\d)/g)].map((found) => found.slice(1)), [
    ["#ff0033", "M0,0h2"],
    ["#00ffff", "M1,1h1"],
  ]);
});

Deno.test("pixels that are NaN are transparent", () => {
  const svg = drawImage({ name: "<x>", width: 3, pixels: [0, NaN, 1] });
  assert.match(svg, /aria-label="&#60;x&#62;"/);
  assert.deepEqual([...svg.matchAll(/<path fill="(#\w+)" d="(M\d,\d)/g)].map((found) => found.slice(1)), [
    ["#000000", "M0,0"],
    ["#ffffff", "M2,0"],
  ]);
});
