/** Permissions of the commands to read and write files. */
import { absolutePath } from "../files/disk.ts";

/** The whole disk, as the permissions of a command in deno.json name it. */
const root = "/";

let isNarrowing = false;

/**
 * Makes the commands of this process keep permissions only for the files that they were given. Programs
 * of users do not call it, because their experiments may read other files.
 */
export function narrowPermissions(): void {
  isNarrowing = true;
}

/** Paths that a command keeps, with everything below them. */
export interface KeptPaths {
  /** Paths of files and folders to read; undefined ones are left out. */
  readonly read: readonly (string | undefined)[];
  /** Paths to write. */
  readonly write?: readonly (string | undefined)[];
}

/**
 * Gives up the permission for the whole disk, and keeps the permission for some paths. Does nothing unless
 * {@linkcode narrowPermissions} was called, and if the user gave narrower permissions, or `--allow-all`.
 */
export async function keepPaths({ read, write = [] }: KeptPaths): Promise<void> {
  if (!isNarrowing) return;
  for (const [name, paths] of [["read", read], ["write", write]] as const) {
    const stateOf = async (path?: string) => (await Deno.permissions.query({ name, path })).state;
    // Revoking a path has no effect on a permission without paths.
    if (await stateOf() === "granted" || await stateOf(root) !== "granted") continue;
    for (const path of paths) {
      // Granted without a question, because the whole disk is granted. Without it, the revocation would take the path.
      if (path !== undefined) await Deno.permissions.request({ name, path: absolutePath(path) });
    }
    await Deno.permissions.revoke({ name, path: root });
  }
}
