/**
 * Sends malformed requests to a server and checks that the server still responds, does not leak memory, and
 * does not disclose information about its machine.
 */
import { Buffer } from "node:buffer";
import { gzipSync } from "node:zlib";
import { damageBytes, damageJson } from "../tests/torture/bytes.ts";
import { type Choices, choicesOf } from "../tests/torture/choices.ts";

/** A server under test. */
interface Target {
  readonly url: string;
  /** A table that the server accepts. */
  readonly table: string;
  /** Strings that a response must never contain: paths, and contents of files. */
  readonly secrets: readonly string[];
  /** The server's memory in bytes. */
  memory(): Promise<number>;
}

/** Results of the requests. */
interface Outcome {
  /** Number of responses by status, or by how the connection ended. */
  readonly counts: Readonly<Record<string, number>>;
  /** Descriptions of faults. */
  readonly faults: readonly string[];
  /** Bytes of memory after each fifth of the requests. */
  readonly memory: readonly number[];
}

const encoder = new TextEncoder();
const bytesOf = (...parts: (string | Uint8Array)[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.concat(parts.map((part) => typeof part === "string" ? encoder.encode(part) : part)));
const body = (type: string, content: string | Uint8Array, more = "", length?: number) => {
  const bytes = bytesOf(content);
  const head = `POST /predict HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: ${type}\r\n${more}`;
  return bytesOf(`${head}content-length: ${length ?? bytes.length}\r\n\r\n`, bytes);
};
const handshake = "GET /stream HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n" +
  "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const paths = [
  "/etc/passwd",
  "../../../../etc/passwd",
  "file:///etc/passwd",
  "data.json",
  "own.csv",
  "%2e%2e%2fdata.json",
];
const observation = { series: "a", time: 1, values: { x: 1, y: 2 } };
const state = {
  count: 2,
  first: 0,
  last: 1,
  held: [0, 0],
  model: [{ observations: [[0, 0, 0]], state: [1] }],
};

/** A WebSocket frame, masked by zeros. */
function frame(kind: number, content: string | Uint8Array): Uint8Array {
  const payload = bytesOf(content);
  const length = payload.length < 126
    ? [0x80 | payload.length]
    : [0xfe, payload.length >> 8, payload.length & 255];
  return bytesOf(Uint8Array.of(0x80 | kind, ...length, 0, 0, 0, 0), payload);
}

type Kind = (
  choices: Choices,
  target: Target,
) => { bytes: Uint8Array<ArrayBuffer>; cut?: boolean; socket?: boolean };

const kinds: Readonly<Record<string, Kind>> = {
  damaged: (choices, { table }) => ({
    bytes: body("text/csv", damageBytes(encoder.encode(table), choices).bytes),
  }),
  request: (choices, { table }) => ({
    bytes: new Uint8Array(damageBytes(body("text/csv", table), choices).bytes),
    cut: true,
  }),
  "damaged JSON": (choices) => {
    const series = [{ name: "a", times: [0, 1, 2], values: { x: [1, 2, null], y: [3, 4, 5] } }];
    return { bytes: body("application/json", JSON.stringify(damageJson({ series }, choices).value) ?? "") };
  },
  "wrong type": (choices, { table }) => ({
    bytes: body(choices.of(["", "text/html", "application/json", "image/png", "x".repeat(500)]), table),
  }),
  "not a table": (choices) => ({
    bytes: body(
      "text/csv",
      choices.of(["PAR1", "SQLite format 3\0", "PK\x03\x04", "\x1f\x8b\x08", "{", "[[[[", "\0", "a\n1"]),
    ),
  }),
  "a bomb": () => ({ bytes: body("text/csv", bomb) }),
  deep: (choices) => ({ bytes: body("application/json", choices.of(["[", '{"a":', "[{"]).repeat(50_000)) }),
  oversized: (choices, { table }) => ({
    bytes: body("text/csv", table, "", 2 ** (24 + choices.below(30))),
    cut: true,
  }),
  "cut off": (choices, { table }) => {
    const whole = body("text/csv", table);
    return { bytes: whole.slice(0, choices.below(whole.length)), cut: true };
  },
  path: (choices) => ({
    bytes: choices.chance(0.5)
      ? bytesOf(`GET /${choices.of(paths)} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)
      : body("application/json", JSON.stringify({ series: choices.of(paths), data: choices.of(paths) })),
  }),
  "no HTTP": (choices) => ({
    bytes: Uint8Array.from({ length: 1 + choices.below(300) }, () => choices.below(256)),
    cut: true,
  }),
  headers: (choices) => ({
    bytes: bytesOf(
      "GET /health HTTP/1.1\r\n",
      choices.of([
        `a: ${"b".repeat(1e5)}\r\n`,
        "a: b\r\n".repeat(3000),
        "host: \0\r\n",
        "host: a b\r\n",
        "\r\n",
        ": a\r\n",
      ]),
      "\r\n",
    ),
    cut: true,
  }),
  origin: (choices, { table }) => ({
    bytes: body(
      "text/csv",
      table,
      choices.of(["origin: http://evil.example\r\n", "origin: null\r\n", "origin: ://\r\n"]),
    ),
  }),
  message: (choices) => {
    const text = JSON.stringify(choices.of<unknown>([observation, { type: "restore", series: "z", state }]));
    const damaged = damageBytes(encoder.encode(text), choices).bytes;
    return { bytes: bytesOf(handshake, frame(choices.of([1, 1, 1, 2, 3, 8, 9]), damaged)), socket: true };
  },
  frames: (choices) => ({
    bytes: bytesOf(handshake, Uint8Array.from({ length: 1 + choices.below(100) }, () => choices.below(256))),
    socket: true,
  }),
};

const bomb = gzipSync(new Uint8Array(2 ** 25));

/** Every kind of malformed request. */
export const malformedKinds: readonly string[] = Object.keys(kinds);

/**
 * Sends `count` malformed requests, several in parallel, and leaves some connections open that send nothing
 * or send slowly.
 */
export async function sendMalformed(
  target: Target,
  count: number,
  seed: number,
  names = malformedKinds,
): Promise<Outcome> {
  const counts: Record<string, number> = {};
  const faults: string[] = [];
  const expected = await answerOf(target);
  const slow: Deno.Conn[] = [];
  const memory: number[] = [];
  let next = 0;
  const sendUpTo = async (end: number) => {
    while (next < end) {
      const number = next++;
      const choices = choicesOf(seed, number);
      const name = choices.of(names);
      const { response, ended } = await send(target, kinds[name](choices, target));
      const status = /^HTTP\/1\.1 (\d+)/.exec(response)?.[1] ?? ended;
      counts[status] = (counts[status] ?? 0) + 1;
      const secret = target.secrets.find((text) => response.includes(text));
      if (secret) faults.push(`request ${number}, ${name}: the response contains ${JSON.stringify(secret)}`);
      if (status === "500") faults.push(`request ${number}, ${name}: ${response.slice(-300)}`);
      if (number % 50 === 0) slow.push(await trickle(target));
      if (number % 500 === 0 && await answerOf(target) !== expected) {
        faults.push(`after request ${number} the server gives another answer`);
      }
    }
  };
  for (let fifth = 1; fifth <= 5; fifth++) {
    await Promise.all(Array.from({ length: 8 }, () => sendUpTo(Math.floor(count * fifth / 5))));
    memory.push(await target.memory());
  }
  if (await answerOf(target) !== expected) faults.push("after all requests the server gives another answer");
  for (const connection of slow) connection.close();
  return { counts, faults, memory };
}

async function answerOf({ url, table }: Target): Promise<string> {
  const response = await fetch(`${url}/predict`, {
    method: "POST",
    body: table,
    headers: { "content-type": "text/csv" },
  });
  return await response.text();
}

const portOf = ({ url }: Target) => ({ hostname: "127.0.0.1", port: Number(new URL(url).port) });

/** Opens a connection whose request never ends. */
async function trickle(target: Target): Promise<Deno.Conn> {
  const connection = await Deno.connect(portOf(target));
  await connection.write(
    encoder.encode("POST /predict HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: text/csv\r\ncontent-"),
  );
  return connection;
}

/** Sends some bytes and reads the response, with a short timeout. */
async function send(
  target: Target,
  { bytes, cut = false, socket = false }: ReturnType<Kind>,
): Promise<{ response: string; ended: string }> {
  const connection = await Deno.connect(portOf(target));
  let timer = setTimeout(() => connection.close(), cut ? 20 : 10_000);
  let [response, ended] = ["", cut ? "cut off here" : "no answer in 10 s"];
  try {
    for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
    const buffer = new Uint8Array(65536);
    for (;;) {
      const read = await connection.read(buffer);
      if (read === null) {
        ended = "closed by the server";
        break;
      }
      // Wait briefly for data after the handshake.
      if (socket && response === "") {
        clearTimeout(timer);
        timer = setTimeout(() => connection.close(), 20);
      }
      response += new TextDecoder("latin1").decode(buffer.subarray(0, read));
      const [, length] = /content-length: (\d+)/i.exec(response) ?? [];
      if (!socket && length && response.length >= response.indexOf("\r\n\r\n") + 4 + Number(length)) break;
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted)) {
      ended = "closed by the server";
    }
  }
  clearTimeout(timer);
  try {
    connection.close();
  } catch {
    // The timer closed the connection.
  }
  return { response, ended };
}
