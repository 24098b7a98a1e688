import type { MemoryKind } from "./platform.ts";

/** Properties that determine whether V8 combines two adjacent vectors of 128 bits. */
export interface VectorEvidence {
  /** Architecture of the processor. Undefined if unknown. */
  readonly arch: string | undefined;
  /** Whether the engine checks every WebAssembly address. Undefined if this cannot be tested. */
  readonly checksAddresses: boolean | undefined;
  /**
   * V8's flags, separated by commas. Undefined without flags, or if reading them is not permitted.
   */
  readonly variable: string | undefined;
  /** Whether this is an executable of `deno compile`, which ignores the environment. */
  readonly isStandalone: boolean;
  /**
   * Whether the engine finds wrong 32-bit addresses by traps of the processor, so that no code checks them.
   */
  readonly trapsAddresses: boolean;
}

/**
 * Number of 128-bit vectors per register: 2 if V8 combines vectors that are adjacent in memory, else 1. V8
 * combines vectors only on x86-64, and only if no code checks an address between them, which can be tested. The
 * flag that enables this is only visible in the environment, not on a command line or in an executable.
 * There, missing address checks imply the flag, because they have no other use. Where traps check the addresses
 * of a memory, V8 combines vectors if threads cannot share the memory.
 */
export function vectorsPerRegisterOf(
  { arch, checksAddresses, variable, isStandalone, trapsAddresses }: VectorEvidence,
  { is64, isShared }: MemoryKind,
): 1 | 2 {
  if (arch !== "x86_64") return 1;
  const switches = isStandalone ? [] : variable?.split(",") ?? [];
  const isUnchecked = lastOf(switches, "wasm-bounds-checks") === false;
  const isJoined = lastOf(switches, "experimental-wasm-revectorize");
  if (checksAddresses && trapsAddresses && isJoined && !is64 && !isShared) return 2;
  // An engine without 64-bit addresses does not combine vectors.
  if (checksAddresses !== false) return 1;
  return isJoined ?? !isUnchecked ? 2 : 1;
}

/** The last value of a V8 flag, or undefined if it is not set. V8 accepts `_` for `-`, and `no` for `no-`. */
function lastOf(switches: readonly string[], flag: string): boolean | undefined {
  const names = switches.map((text) => text.trim().replace(/^--?/, "").replaceAll("_", "-"));
  const last = names.findLast((name) => name.replace(/^no-?/, "") === flag);
  return last === undefined ? undefined : last === flag;
}

/**
 * Whether the engine checks every WebAssembly address. Reads 4 bytes from address 2^64 - 16 with offset 16. A
 * check rejects the sum 2^64; without a check the sum wraps to the first bytes of the memory, so nothing
 * outside is read.
 */
export function tryAddressChecks(): boolean | undefined {
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
