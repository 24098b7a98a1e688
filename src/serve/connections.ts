/** The open connections of a server. */
import type { Server } from "node:http";
import type { Socket } from "node:net";

/** Counts the connections of a server; those above the number are closed at once. */
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
    /** Waits for their ends, and cuts those off that are left after so many seconds. */
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
