/** Finds the Git commit that a program runs from. */
import { pathKind, readTextIfPresent } from "./disk.ts";

/**
 * Commit of the Git checkout in a folder, in hexadecimal. Reads `.git` directly, without running Git.
 *
 * @returns `undefined` if there is no checkout, or the checkout has no commit.
 */
export async function checkoutCommit(folder: string): Promise<string | undefined> {
  const gitDir = await gitFolder(`${folder}/.git`);
  const head = gitDir && (await readTextIfPresent(`${gitDir}/HEAD`))?.trim();
  if (!head?.startsWith("ref: ")) return head;
  const branch = head.slice("ref: ".length);
  // The branches of a linked worktree are in the main checkout.
  const common = (await readTextIfPresent(`${gitDir}/commondir`))?.trim();
  const shared = common === undefined ? gitDir : common.startsWith("/") ? common : `${gitDir}/${common}`;
  const loose = (await readTextIfPresent(`${shared}/${branch}`))?.trim();
  if (loose) return loose;
  const packed = await readTextIfPresent(`${shared}/packed-refs`) ?? "";
  return packed.split("\n").find((line) => line.endsWith(` ${branch}`))?.split(" ")[0];
}

/** The `.git` folder. In a linked worktree, `.git` is a file with the path of the folder. */
async function gitFolder(path: string): Promise<string | undefined> {
  const kind = await pathKind(path);
  if (!kind) return undefined;
  return kind === "folder" ? path : (await readTextIfPresent(path))?.replace(/^gitdir: /, "").trim();
}
