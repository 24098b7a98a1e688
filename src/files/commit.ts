/** Which commit of a repository a program runs from. */
import { readTextIfPresent } from "./disk.ts";

/**
 * The commit of the Git checkout in a folder, in hexadecimal digits, read from its `.git` without Git.
 *
 * @returns `undefined` where there is no checkout, or it has no commit.
 */
export async function checkoutCommit(folder: string): Promise<string | undefined> {
  const own = await gitFolder(`${folder}/.git`);
  const head = own && (await readTextIfPresent(`${own}/HEAD`))?.trim();
  if (!head?.startsWith("ref: ")) return head;
  const branch = head.slice("ref: ".length);
  // Branches of a linked worktree lie in the checkout that it was made from.
  const common = (await readTextIfPresent(`${own}/commondir`))?.trim();
  const shared = common === undefined ? own : common.startsWith("/") ? common : `${own}/${common}`;
  const loose = (await readTextIfPresent(`${shared}/${branch}`))?.trim();
  if (loose) return loose;
  const packed = await readTextIfPresent(`${shared}/packed-refs`) ?? "";
  return packed.split("\n").find((line) => line.endsWith(` ${branch}`))?.split(" ")[0];
}

/** The folder, or that which a file of a linked worktree names. */
async function gitFolder(path: string): Promise<string | undefined> {
  const info = await Deno.stat(path).catch(() => undefined);
  if (!info) return undefined;
  return info.isDirectory ? path : (await Deno.readTextFile(path)).replace(/^gitdir: /, "").trim();
}
