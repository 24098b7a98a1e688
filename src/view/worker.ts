/** A thread with the view of a folder, so that long training steps do not delay its pages. */
import { startView } from "./server.ts";
import type { ViewReply, ViewStart } from "./thread.ts";

const scope = self as unknown as {
  onmessage: ((event: MessageEvent<ViewStart | "stop">) => void) | null;
  postMessage(reply: ViewReply): void;
  close(): void;
};

let view: ReturnType<typeof startView> | undefined;

scope.onmessage = async ({ data }) => {
  if (data === "stop") {
    await view?.[Symbol.asyncDispose]();
    scope.postMessage({ kind: "stopped" });
    return scope.close();
  }
  try {
    view = startView(data.folder, data.port);
    scope.postMessage({ kind: "started", url: view.url });
  } catch (error) {
    scope.postMessage({ kind: "failed", error: (error as Error).message });
  }
};
