/** Bundles `trained_page.js` by webpack. A warning is a failure. Next minifies its bundle, so this one stays as it is: it takes a fifth. */
import assert from "node:assert/strict";
import webpack from "webpack";

const stats = await new Promise((resolve, reject) =>
  webpack({
    mode: "production",
    entry: "./trained_page.js",
    output: { path: `${process.cwd()}/built/webpack` },
    optimization: { minimize: false },
    performance: { hints: false },
  }, (error, stats) => error ? reject(error) : resolve(stats))
);
assert.equal(stats.toString({ all: false, errors: true, warnings: true }), "");
console.log(`webpack: no warnings, ${((stats.endTime - stats.startTime) / 1000).toFixed(0)} s`);
