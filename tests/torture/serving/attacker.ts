/** A thread that attacks a server, so that the attacks do not delay the measured requests. */
import { attacks } from "./attacks.ts";

const scope = self as unknown as {
  onmessage: (event: MessageEvent<{ name: string; port: number; seconds: number }>) => void;
  postMessage(message: string): void;
};

scope.onmessage = async ({ data: { name, port, seconds } }) => {
  await attacks[name](port, performance.now() + 1000 * seconds);
  scope.postMessage("done");
};
