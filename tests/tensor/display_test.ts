import assert from "node:assert/strict";
import {
  arange,
  cdeint,
  CubicSpline,
  image,
  key,
  naturalCubicCoeffs,
  normal,
  plot,
  scan,
  tensor,
  tidy,
  zeros,
} from "../../mod.ts";
import { testOnDevices } from "../devices.ts";
import { displayOf, rowsOf } from "../display.ts";

testOnDevices("a notebook shows a tensor as a table with its type, shape and device", async (device) => {
  const x = tensor([[1, -2.5, NaN], [0, 0.125, Infinity]]).mul(1);
  const bundle = await displayOf(x);
  assert.deepEqual(Object.keys(bundle), ["text/plain", "text/html"]);
  const title = `Tensor float32 (2, 3) on ${device.info.kind}`;
  assert.ok(bundle["text/html"].startsWith(`<div class="weft"><p>${title}</p>`));
  assert.deepEqual(rowsOf(bundle["text/html"]), [
    ["", "0", "1", "2"],
    ["0", "1.0000", "-2.5000", "nan"],
    ["1", "0.0000", "0.1250", "inf"],
  ]);
  assert.equal(
    bundle["text/plain"],
    `${title}\n[[ 1.0000, -2.5000,     nan],\n [ 0.0000,  0.1250,     inf]]`,
  );
});

Deno.test("a notebook shows numbers, vectors and higher ranks", async () => {
  const rows = async (x: unknown) => rowsOf((await displayOf(x))["text/html"]);
  assert.deepEqual(await rows(tensor(3)), [["3.0"]]);
  assert.deepEqual(await rows(tensor([4, 5], { dtype: "int32" })), [["", "0", "1"], ["", "4", "5"]]);
  assert.deepEqual(await rows(arange(4, { dtype: "int32" }).reshape([2, 1, 2])), [
    ["", "0", "1"],
    ["0, 0", "0", "1"],
    ["1, 0", "2", "3"],
  ]);
});

Deno.test("a notebook shows three indices at each end of the axes of large tensors", async () => {
  const bundle = await displayOf(arange(1600, { dtype: "int32" }).reshape([40, 40]));
  const dots = Array(7).fill("...");
  const row = (i: number) =>
    [i, ...[0, 1, 2].map((j) => 40 * i + j), "...", ...[37, 38, 39].map((j) => 40 * i + j)].map(String);
  assert.deepEqual(rowsOf(bundle["text/html"]), [
    ["", "0", "1", "2", "...", "37", "38", "39"],
    ...[0, 1, 2].map(row),
    ["...", ...dots],
    ...[37, 38, 39].map(row),
  ]);
});

Deno.test("tensors without elements or values are shown without a table", async () => {
  const empty = await displayOf(zeros([0, 2]));
  assert.equal(empty["text/plain"], "Tensor float32 (0, 2) on cpu\n[]");
  assert.match(empty["text/html"], /^<div class="weft"><p>Tensor float32 \(0, 2\) on cpu<\/p>\n<style>/);
  let released = tensor([0]);
  tidy(() => {
    released = tensor([1, 2]).add(1);
    return undefined;
  });
  assert.match((await displayOf(released))["text/html"], /<p>Tensor float32 \(2,\) on cpu<\/p>\n<style>/);
  const traced: Promise<Record<string, string>>[] = [];
  scan(
    (h, row: typeof released) => {
      traced.push(displayOf(h));
      return [h.add(row), h];
    },
    tensor([1]),
    zeros([3, 1]),
  );
  assert.match((await traced[0])["text/plain"], /^Tensor float32 \(1,\) in a trace$/);
});

/** Names of the legend of a chart, and points of its lines. */
function linesOf(svg: string) {
  const lines = [...svg.matchAll(/<path class="line" d="(M[^"]*L[^"]*)"/g)].map(([, d]) =>
    d.split("L").length
  );
  return { lines, title: svg.match(/class="head"[^>]*>([^<]*)</)?.[1] };
}

testOnDevices("plot draws a solution as lines over time", async () => {
  const figure = plot(tensor([[1, 2], [3, 4], [5, 7]]).mul(1), [0, 1, 3], { title: "a < b" });
  const bundle = await displayOf(figure);
  assert.equal(bundle["text/plain"], "a < b");
  assert.deepEqual(linesOf(bundle["image/svg+xml"]), { lines: [3, 3], title: "a &#60; b" });
  assert.equal(await figure.svg(), bundle["image/svg+xml"]);
});

Deno.test("plot names lines in the legend, by default with their indices", async () => {
  const legend = async (names?: string[]) => {
    const svg = await plot(tensor([[1, 2], [3, 4]]), [0, 1], names ? { names } : {}).svg();
    return [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
  };
  assert.ok((await legend(["a < b", "c"])).join().includes("a &#60; b,c"));
  assert.ok((await legend()).join().includes("0,1"));
});

Deno.test("plot takes another axis of time, and draws eight lines at most", async () => {
  const t = [0, 1, 2, 3];
  const X = CubicSpline(naturalCubicCoeffs(normal(key(0), [5, 4, 1])));
  const z = cdeint(X, (_t, z) => z.expandDims(-1), normal(key(1), [5, 2]), t, { method: "rk4" });
  const { lines, title } = linesOf(await plot(z, tensor(t), { axis: -2 }).svg());
  assert.deepEqual(lines, Array(8).fill(4));
  assert.equal(title, "Values (5, 4, 2) over time: 8 of 10");
});

Deno.test("plot rejects times of another length, and a tensor without axes", () => {
  assert.throws(
    () => plot(tensor([1, 2]), [0, 1, 2]),
    /^ShapeError: plot: t has shape \(3,\), expected \(2,\)/,
  );
  assert.throws(() => plot(tensor(1)), /^ShapeError: plot: y/);
  assert.throws(() => plot(tensor([1]), ["a"] as never), /^TypeError: plot: t is /);
});

const shadesOf = (svg: string) => [...svg.matchAll(/<path fill="#(..)\w+"/g)].map(([, shade]) => shade);

testOnDevices("image draws a matrix from its smallest to its largest value", async () => {
  const bundle = await displayOf(image(tensor([[1, 2], [3, NaN]]).mul(1)));
  assert.equal(bundle["text/plain"], "Image of float32 (2, 2)");
  assert.match(
    bundle["image/svg+xml"],
    /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" width="360" viewBox="0 0 2 2"/,
  );
  assert.deepEqual(shadesOf(bundle["image/svg+xml"]), ["00", "80", "ff"]);
});

Deno.test("image takes limits, and reduces a large matrix to means", async () => {
  assert.deepEqual(shadesOf(await image(tensor([[1, 2]]), { min: 0, max: 4 }).svg()), ["40", "80"]);
  assert.deepEqual(shadesOf(await image(tensor([[5, 5]])).svg()), ["00"]);
  const wide = await image(arange(400, { dtype: "float32" }).reshape([1, 400])).svg();
  assert.match(wide, /viewBox="0 0 100 1"/);
  assert.deepEqual([shadesOf(wide)[0], shadesOf(wide).at(-1)], ["00", "ff"]);
});

Deno.test("image rejects tensors that are no matrix, and limits that are no numbers", () => {
  assert.throws(() => image(tensor([1])), /^ShapeError: image: x/);
  assert.throws(() => image(zeros([0, 2])), /^ShapeError: image: x/);
  assert.throws(() => image(tensor([[1]]), { min: NaN }), /^TypeError: image: min is NaN, expected a number/);
});
