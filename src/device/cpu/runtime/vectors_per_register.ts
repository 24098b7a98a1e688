/** What tells whether V8 computes two neighbouring vectors as one. */
export interface VectorEvidence {
  /** Architecture of the processor, as in `Deno.build.arch`. */
  readonly arch: string;
  /** Whether the engine checks each address of WebAssembly; undefined where that cannot be tried. */
  readonly checksAddresses: boolean | undefined;
  /** V8's switches in the environment, divided by commas; undefined where there are none, or nobody may read them. */
  readonly variable: string | undefined;
  /** Whether this is an executable of `deno compile`, which ignores the environment. */
  readonly isStandalone: boolean;
}

/**
 * Vectors of 128 bits that a register holds: 2 where V8 joins vectors that lie next to each other in memory, 1 elsewhere. V8 joins
 * them on x86-64 only, and only where no address is checked between them, which can be tried. Whether V8 was also told to join
 * vectors can be read in the environment alone: the switches of a command line, and those in an executable, are not visible. There
 * the missing check stands for both switches, since nothing else has a use for it.
 */
export function vectorsPerRegisterOf(
  { arch, checksAddresses, variable, isStandalone }: VectorEvidence,
): 1 | 2 {
  if (arch !== "x86_64" || checksAddresses) return 1;
  const switches = isStandalone ? [] : variable?.split(",") ?? [];
  const isUnchecked = lastOf(switches, "wasm-bounds-checks") === false;
  const isJoined = lastOf(switches, "experimental-wasm-revectorize");
  if (checksAddresses === undefined) return isUnchecked && isJoined ? 2 : 1;
  return isJoined ?? !isUnchecked ? 2 : 1;
}

/** What the last of V8's switches says about a flag; undefined where none names it. V8 takes `_` for `-`, and `no` for `no-`. */
function lastOf(switches: readonly string[], flag: string): boolean | undefined {
  const names = switches.map((text) => text.trim().replace(/^--?/, "").replaceAll("_", "-"));
  const last = names.findLast((name) => name.replace(/^no-?/, "") === flag);
  return last === undefined ? undefined : last === flag;
}

/**
 * Whether the engine checks each address of WebAssembly. It reads 4 bytes from the address 2^64 - 16 with the offset 16: a check
 * refuses their sum 2^64. Without a check the sum wraps to the memory's first bytes, so that nothing outside is read.
 */
function tryAddressChecks(): boolean | undefined {
  const code = [0x42, 0x70, 0x28, 2, 16, 0x0b]; // i64.const -16, i32.load offset=16, end
  const bytes = [
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...[1, 5, 1, 0x60, 0, 1, 0x7f], // the type () -> i32
    ...[3, 2, 1, 0], // a function of this type
    ...[5, 3, 1, 0x04, 1], // a memory of one page with 64-bit addresses
    ...[7, 8, 1, 4, 0x72, 0x65, 0x61, 0x64, 0, 0], // the export "read"
    ...[10, 3 + code.length, 1, 1 + code.length, 0, ...code],
  ];
  let read: () => number;
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from(bytes)));
    read = exports.read as typeof read;
  } catch {
    return undefined; // An engine without 64-bit addresses.
  }
  try {
    read();
    return false;
  } catch {
    return true;
  }
}

/** V8's switches in the environment, where the permission `--allow-env=DENO_V8_FLAGS` is granted. */
function readSwitches(): string | undefined {
  const variable = "DENO_V8_FLAGS";
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  return state === "granted" ? Deno.env.get(variable) : undefined;
}

/** Vectors of 128 bits that a register holds in this process; tiles are that much wider. */
export const vectorsPerRegister: 1 | 2 = vectorsPerRegisterOf({
  arch: Deno.build.arch,
  checksAddresses: tryAddressChecks(),
  variable: readSwitches(),
  isStandalone: Deno.build.standalone,
});
