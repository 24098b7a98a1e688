/** The import graph of the repository, for tests of its structure. */
import { dirname, join } from "node:path/posix";

/** Files of the repository that a file imports: statically, dynamically or for a type. */
export function importsOf(file: string, source: string): string[] {
  const atStart = /^(?:import|export)\b[^;]*?\bfrom\s+"(\.[^"]+)"|^import\s+"(\.[^"]+)"/gm;
  const later = /\bimport\(\s*"(\.[^"]+)"/g;
  return [atStart, later].flatMap((pattern) => [...source.matchAll(pattern)])
    .map(([, from, effect]) => join(dirname(file), from ?? effect));
}

/** Texts of the code files in folders by path. */
export async function sources(folders: readonly string[]): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  const visit = async (folder: string) => {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      const path = `${folder}/${name}`;
      if (isDirectory) await visit(path);
      else if (/\.(ts|wgsl)$/.test(name)) files.set(path, await Deno.readTextFile(path));
    }
  };
  for (const folder of folders) await visit(folder);
  return files;
}
