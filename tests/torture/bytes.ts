import type { Choices } from "./choices.ts";

/** A change to a file's bytes, with a description. */
interface Damage {
  readonly what: string;
  readonly bytes: Uint8Array;
}

/** Applies one fault to bytes, of the kinds that disks, networks and editors cause. */
export function damageBytes(bytes: Uint8Array, choices: Choices): Damage {
  const at = bytes.length === 0 ? 0 : choices.below(bytes.length);
  const faults: (() => Damage)[] = [
    () => {
      const count = 1 + choices.below(3);
      const damaged = bytes.slice();
      const places = Array.from(
        { length: bytes.length === 0 ? 0 : count },
        () => choices.below(bytes.length),
      );
      for (const place of places) damaged[place] ^= 1 << choices.below(8);
      return { what: `bits flipped in bytes ${places.join(", ")}`, bytes: damaged };
    },
    () => ({ what: `cut off at byte ${at}`, bytes: bytes.slice(0, at) }),
    () => ({ what: "empty", bytes: new Uint8Array(0) }),
    () => {
      const end = Math.min(bytes.length, at + 1 + choices.below(512));
      const value = choices.of([0, 0xff, 0x20]);
      return { what: `bytes ${at} to ${end} set to ${value}`, bytes: bytes.slice().fill(value, at, end) };
    },
    () => {
      const end = Math.min(bytes.length, at + 1 + choices.below(64));
      return { what: `without bytes ${at} to ${end}`, bytes: join(bytes.slice(0, at), bytes.slice(end)) };
    },
    () => {
      const added = Uint8Array.from({ length: 1 + choices.below(40) }, () => choices.below(256));
      return {
        what: `${added.length} random bytes inserted at ${at}`,
        bytes: join(bytes.slice(0, at), added, bytes.slice(at)),
      };
    },
    () => ({ what: "twice in a row", bytes: join(bytes, bytes) }),
    () => {
      const added = Uint8Array.from({ length: 1 + choices.below(40) }, () => choices.below(256));
      return { what: `${added.length} random bytes appended`, bytes: join(bytes, added) };
    },
    () => ({
      what: "random bytes",
      bytes: Uint8Array.from({ length: 1 + choices.below(300) }, () => choices.below(256)),
    }),
  ];
  // Flipped bits are the fault that checks most often miss.
  return choices.chance(0.4) ? faults[0]() : choices.of(faults)();
}

function join(...parts: Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Values that are invalid in any place of a file. */
const hostile: readonly unknown[] = [
  null,
  -1,
  0,
  1.5,
  9999,
  1e308,
  2 ** 53,
  "",
  "NaN",
  "../..",
  "x".repeat(2000),
  [],
  {},
  [null],
  true,
  [1, 2],
  -0.0001,
];

/** A JSON value with one part replaced, removed or added. */
export function damageJson(
  value: unknown,
  choices: Choices,
): { readonly what: string; readonly value: unknown } {
  if (Array.isArray(value) || typeof value === "object" && value !== null) {
    const entries = Object.entries(value);
    if (entries.length > 0 && choices.chance(0.9)) {
      const [key, part] = choices.of(entries);
      const isLeaf = typeof part !== "object" || part === null;
      const inner = isLeaf || choices.chance(0.3) ? undefined : damageJson(part, choices);
      const rest = entries.filter(([other]) => other !== key);
      if (!inner && choices.chance(0.2)) {
        return { what: `without ${key}`, value: rebuild(value, rest) };
      }
      const next = inner ?? (() => {
        const odd = choices.of(hostile);
        return { what: `is ${JSON.stringify(odd)?.slice(0, 30)}`, value: odd };
      })();
      return {
        what: `${key} ${next.what}`,
        value: rebuild(value, entries.map(([other, old]) => [other, other === key ? next.value : old])),
      };
    }
  }
  const odd = choices.of(hostile);
  return { what: `is ${JSON.stringify(odd)?.slice(0, 30)}`, value: odd };
}

function rebuild(like: unknown, entries: [string, unknown][]): unknown {
  return Array.isArray(like) ? entries.map(([, part]) => part) : Object.fromEntries(entries);
}
