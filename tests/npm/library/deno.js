/** What tests use of the global `Deno`, for Node and browsers. The bundler puts it into the tests, but not into the library. */

/** The error of a test that uses another part of Deno. */
export class NeedsDeno extends Error {}

/** Registered tests, with the properties of `Deno.test`. */
export const tests = [];

/** Functions that run after each test. */
export const afterEach = [];

/** Variables of the environment. */
export const environment = {};

function test(...rest) {
  const options = typeof rest[0] === "string" ? { name: rest[0], fn: rest.at(-1), ...rest.slice(1, -1)[0] } : rest[0];
  tests.push(options);
}
// A page or a process ends after the tests of a layer, and its devices with it.
test.afterAll = () => {};
test.afterEach = (fn) => afterEach.push(fn);

const parts = {
  test,
  permissions: { querySync: () => ({ state: "granted" }) },
  env: { get: (name) => environment[name] },
};

export const Deno = new Proxy(parts, {
  get(_, name) {
    if (name in parts) return parts[name];
    throw new NeedsDeno(`Deno.${name} is missing`);
  },
});

/** Read by the package "assert". */
export const process = { env: {} };
