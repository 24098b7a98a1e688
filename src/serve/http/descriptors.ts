/** File descriptors of the process. Each connection needs one. */

/** Descriptors for threads, for the files of a run, and for connections that are rejected or being closed. */
const spare = 64;

/**
 * Number of connections that the limit of open files allows, up to `most`. No call for the limit exists on all
 * systems, so a file is opened until opening fails.
 *
 * @param file A file that can be read.
 * @throws {Error} If the limit leaves no room for a connection.
 */
export function connectionsWithin(most: number, file: string): number {
  const free = freeDescriptors(file, most + spare);
  const connections = free - spare;
  if (connections >= 1) return Math.min(most, connections);
  throw new Error(
    `the process can open only ${free} more files, expected at least ${
      spare + 1
    }; raise the limit, for example with ulimit -n 4096`,
  );
}

function freeDescriptors(file: string, most: number): number {
  const open: Deno.FsFile[] = [];
  try {
    while (open.length < most) open.push(Deno.openSync(file));
  } catch {
    // The limit is reached.
  }
  for (const one of open) one.close();
  return open.length;
}
