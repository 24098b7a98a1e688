/** Connections to a server under attack: raw bytes, so that clients can break the rules. */

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A pause in milliseconds. */
export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** A connection that can be left unread. */
export interface RawConnection extends Disposable {
  /** Writes as much as the server takes in a time. Never throws. Returns the number of bytes. */
  write(bytes: string | Uint8Array, milliseconds: number): Promise<number>;
  /** Reads all until the server ends the connection, or until a time is over. Never throws. */
  read(milliseconds: number): Promise<string>;
}

/** Opens a connection. Undefined if the server rejects it. */
export async function connect(port: number): Promise<RawConnection | undefined> {
  let connection: Deno.TcpConn;
  try {
    connection = await Deno.connect({ hostname: "127.0.0.1", port });
  } catch {
    return undefined;
  }
  let isOpen = true;
  const close = () => {
    if (isOpen) connection.close();
    isOpen = false;
  };
  return {
    async write(bytes, milliseconds) {
      const all = typeof bytes === "string" ? encoder.encode(bytes) : bytes;
      let at = 0;
      const write = async () => {
        while (at < all.length) at += await connection.write(all.subarray(at, at + 2 ** 16));
      };
      await within(milliseconds, write().catch(() => {}));
      return at;
    },
    async read(milliseconds) {
      let text = "";
      const read = async () => {
        const part = new Uint8Array(2 ** 16);
        for (;;) {
          const length = await connection.read(part);
          if (length === null) return;
          text += decoder.decode(part.subarray(0, length));
        }
      };
      await within(milliseconds, read().catch(() => {}));
      return text;
    },
    [Symbol.dispose]: close,
  };
}

/** Sends a request on a new connection, and reads until the server ends the connection. */
export async function exchange(port: number, request: string): Promise<string> {
  using connection = await connect(port);
  await connection?.write(request, 5000);
  return await connection?.read(2000) ?? "";
}

/** Waits for a promise, at most for a time. */
async function within(milliseconds: number, promise: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => timer = setTimeout(resolve, milliseconds));
  await Promise.race([promise, late]);
  clearTimeout(timer);
}

/** A request without a body. */
export function get(path: string, more = ""): string {
  return `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${more}\r\n`;
}

/** A request with a table. */
export function post(table: string, more = ""): string {
  const length = encoder.encode(table).length;
  return `POST /predict HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: text/csv\r\n${more}content-length: ${length}\r\n\r\n${table}`;
}

/** The handshake of a WebSocket. */
export const handshake: string = get(
  "/stream",
  "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
);

/** A message of a WebSocket, masked by zeros. */
export function frame(message: unknown): Uint8Array<ArrayBuffer> {
  const payload = encoder.encode(JSON.stringify(message));
  const length = payload.length < 126
    ? [0x80 | payload.length]
    : [0xfe, payload.length >> 8, payload.length & 255];
  const head = Uint8Array.of(0x81, ...length, 0, 0, 0, 0);
  const bytes = new Uint8Array(head.length + payload.length);
  bytes.set(head);
  bytes.set(payload, head.length);
  return bytes;
}

/** A small table that the model of `trainServed` reads. */
export const smallTable = "series,time,x,ward\na,0,1,er\na,1,2,icu\na,2.5,3,er\n";

/** A table with a number of series, whose names have a length. */
export function tableOf(count: number, nameLength: number): string {
  const rows = Array.from(
    { length: count },
    (_, i) => `${`${i}`.padEnd(nameLength, "n")},0,1,er\n`,
  );
  return `series,time,x,ward\n${rows.join("")}`;
}
