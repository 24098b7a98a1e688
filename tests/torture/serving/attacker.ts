/** A thread that attacks a server, so that the attacks do not delay the measured requests. */
import { setPriority } from "node:os";
import { attacks } from "./attacks.ts";

const scope = self as unknown as {
  onmessage: (event: MessageEvent<{ name: string; port: number; seconds: number }>) => void;
  postMessage(message: string): void;
};

/**
 * Priority of the thread, as of `nice`. Real attackers have machines of their own: here they get the processor time that the server
 * and its other clients leave, which is enough for nearly the same attacks.
 */
const priority = 10;

scope.onmessage = async ({ data: { name, port, seconds } }) => {
  // On Linux, 0 is this thread. On other systems it would be the process, with the measured requests.
  if (Deno.build.os === "linux") setPriority(0, priority);
  await attacks[name](port, performance.now() + 1000 * seconds);
  scope.postMessage("done");
};
