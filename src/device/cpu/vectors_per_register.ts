/** Switches of V8 by which it computes two neighbouring vectors as one. */
const switches = ["--experimental-wasm-revectorize", "--no-wasm-bounds-checks"];

/**
 * Vectors of 128 bits that a register holds: one, or two where V8 has been told to join those that lie next to each other in
 * memory, as it does if no address is checked between them. Tiles are that much wider. Without the permission to read the
 * switches, `--allow-env=DENO_V8_FLAGS`, it is one.
 */
export const vectorsPerRegister: 1 | 2 = (() => {
  const variable = "DENO_V8_FLAGS";
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  const given = state === "granted" ? Deno.env.get(variable)?.split(",") ?? [] : [];
  return switches.every((name) => given.includes(name)) ? 2 : 1;
})();
