/** The open connections of a server. */
import type { Server } from "node:http";
import type { Socket } from "node:net";

/** Tracks the connections of a server. Connections above the maximum are closed immediately. */
export function connectionsOf(server: Server, most: number) {
  const open = new Set<Socket>();
  let onNone = () => {};
  server.on("connection", (connection: Socket) => {
    if (open.size >= most) return connection.destroy();
    open.add(connection);
    connection.on("close", () => {
      open.delete(connection);
      if (open.size === 0) onNone();
    });
  });
  return {
    /** Waits until all connections end. After `seconds`, closes the open ones. */
    async end(seconds: number) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      await new Promise<void>((resolve) => {
        onNone = resolve;
        if (open.size === 0) resolve();
        timer = setTimeout(resolve, 1000 * seconds);
      });
      clearTimeout(timer);
      for (const connection of open) connection.destroy();
    },
  };
}
