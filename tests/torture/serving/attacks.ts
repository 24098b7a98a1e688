/** Attacks on the memory and the time of a server. Each runs for some seconds, in rounds. */
import {
  connect,
  exchange,
  frame,
  get,
  handshake,
  post,
  type RawConnection,
  sleep,
  tableOf,
} from "./client.ts";

/** An attack on the server at a port, until a time of `performance.now()`. */
export type Attack = (port: number, end: number) => Promise<void>;

/** Milliseconds that connections of a round stay open without being read. */
const roundLength = 5000;

/** Repeats rounds. Each opens connections, writes to all, reads nothing, and closes all. */
function rounds(
  count: number,
  write: (connection: RawConnection, i: number) => Promise<unknown>,
  before: (port: number) => Promise<unknown> = () => Promise.resolve(),
): Attack {
  return async (port, end) => {
    while (performance.now() < end) {
      const left = Math.min(roundLength, end - performance.now());
      await before(port);
      using connections = new DisposableStack();
      const writeTo = async (i: number) => {
        const connection = await connect(port);
        if (connection) await write(connections.use(connection), i);
      };
      for (let i = 0; i < count; i++) void writeTo(i).catch(() => {});
      await sleep(left);
    }
  };
}

const closing = "connection: close\r\n";

/** Attacks by name. */
export const attacks: Readonly<Record<string, Attack>> = {
  /** Names of megabytes, which would be among the latest answers, and many unread lists of these. */
  names: rounds(
    40,
    (connection) => connection.write(get("/latest"), roundLength),
    async (port) => {
      await exchange(port, post(tableOf(1, 2 ** 22), closing));
      for (let i = 0; i < 3; i++) await exchange(port, post(tableOf(20, 256), closing));
    },
  ),
  /** Connections that send thousands of requests at once. */
  pipelines: rounds(64, (connection) => connection.write(get("/openapi.json").repeat(20_000), roundLength)),
  /** WebSockets that ask for states. */
  sockets: rounds(100, async (connection, i) => {
    const observation = frame({ series: `s${i}`, time: 0, values: { x: 1, ward: "er" } });
    const save = frame({ type: "save", series: `s${i}` });
    const many = new Uint8Array(save.length * 2000);
    for (let at = 0; at < many.length; at += save.length) many.set(save, at);
    await connection.write(handshake, roundLength);
    await connection.write(observation, roundLength);
    await connection.write(many, roundLength);
  }),
  /** Large answers. */
  answers: rounds(
    30,
    (connection) => connection.write(post(tableOf(4000, 256)), roundLength),
  ),
  /** More connections than the process may open. */
  descriptors: async (port, end) => {
    while (performance.now() < end) {
      using connections = new DisposableStack();
      const opened = Array.from({ length: 1100 }, async () => {
        const connection = await connect(port);
        if (connection) connections.use(connection);
      });
      await Promise.all(opened);
      await sleep(200);
    }
  },
  /** Bodies that arrive slowly, and bodies that are large. */
  bodies: rounds(40, async (connection, i) => {
    const head = post("", "").replace("content-length: 0", `content-length: ${2 ** 23}`);
    await connection.write(head + "x".repeat(i % 2 ? 2 ** 20 : 100), roundLength);
    await sleep(roundLength / 2);
  }),
};
