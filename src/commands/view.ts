import { command, number, path, stopSignals } from "./command.ts";
import { whyNoFolder } from "../files/disk.ts";
import { keepPaths } from "./permissions.ts";
import { startView } from "../view/server.ts";
import { print } from "./print.ts";

/** `deno task view`: shows the runs of a folder in a browser until Ctrl-C. */
export async function view(args: string[]): Promise<number> {
  const program = command(
    "view",
    "Show the runs of a folder side by side in a browser until Ctrl-C, also while they train.",
  )
    .argument("[folder]", "folder of runs, or of one run", path, "runs")
    .option(
      "--port <number>",
      "port to listen on; 0 selects a free port (default: 8100, or a free port)",
      number({ from: 0, below: 65536, whole: true }),
    )
    .parse(args, { from: "user" });
  const folder: string = program.processedArgs[0];
  const reason = await whyNoFolder(folder);
  if (reason) throw new Error(`${folder}: ${reason}; expected a folder of runs`);
  await keepPaths({ read: [folder] });
  const { port } = program.opts<{ port?: number }>();
  await using running = startView(folder, port);
  for (const name of ["write", "net", "run", "env", "sys", "ffi"] as const) {
    await Deno.permissions.revoke({ name });
  }
  print(`the runs of ${folder} on ${running.url}`);
  await new Promise<void>((resolve) => {
    for (const signal of stopSignals) Deno.addSignalListener(signal, resolve);
  });
  return 0;
}
