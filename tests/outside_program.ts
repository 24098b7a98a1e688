/** Programs of users, which see only the exports of Weft. */

const root = new URL("..", import.meta.url);

/** Makes a folder outside the repository with files, and an import map that replaces the published package. */
export async function withOutsideFolder(
  /** Contents by name, or the URLs of files to copy. */
  files: Readonly<Record<string, string | URL>>,
  body: (folder: string) => Promise<void>,
): Promise<void> {
  const { name, exports, imports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));
  const parts = Object.fromEntries(
    Object.entries<string>(exports).map(([part, file]) => [name + part.slice(1), new URL(file, root).href]),
  );
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify({ imports: { ...imports, ...parts } }));
    for (const [name, content] of Object.entries(files)) {
      if (content instanceof URL) await Deno.copyFile(content, `${folder}/${name}`);
      else await Deno.writeTextFile(`${folder}/${name}`, content);
    }
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs a program of such a folder with all permissions. */
export function outsideProgram(folder: string, file: string, ...args: readonly string[]): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", file, ...args],
    cwd: folder,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}
