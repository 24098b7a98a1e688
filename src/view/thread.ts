/** Starts the view of a folder in another thread. */
import { fileURLToPath } from "node:url";
import { OptionError } from "../device/errors.ts";
import type { View } from "./server.ts";

/** Message that starts the view. */
export interface ViewStart {
  readonly folder: string;
  readonly port?: number;
}

/** Messages of the thread. */
export type ViewReply =
  | { readonly kind: "started"; readonly url: string }
  | { readonly kind: "failed"; readonly error: string }
  | { readonly kind: "stopped" };

const code = new URL("../", import.meta.url);

/** Folder with the code of the thread, which must be readable. Undefined if the code is not on the disk. */
export const viewCode: string | undefined = code.protocol === "file:" ? fileURLToPath(code) : undefined;

/**
 * Starts the view of a folder in another thread; see `startView`.
 *
 * @throws {OptionError} If the view cannot listen on the port.
 */
export async function startViewThread(folder: string, port?: number): Promise<View> {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  const reply = () =>
    new Promise<ViewReply>((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(`the thread of the view failed: ${event.message}`));
      };
    });
  const start: ViewStart = { folder, port };
  worker.postMessage(start);
  const started = await reply();
  if (started.kind !== "started") {
    worker.terminate();
    throw new OptionError(
      "invalid-option",
      started.kind === "failed" ? started.error : "the view has ended",
      {
        option: "view",
      },
    );
  }
  return {
    url: started.url,
    async [Symbol.asyncDispose]() {
      worker.postMessage("stop");
      await reply();
      worker.terminate();
    },
  };
}
