/** Output and exit code of a program. */
interface ProgramResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program in a separate process, in the project folder, with only the given permissions.
 *
 * @param program Source code of the program.
 * @param flags Flags of `deno run`.
 */
export async function runProgram(
  program: string,
  flags: readonly string[] = [],
  options: Pick<Deno.CommandOptions, "env" | "signal"> = {},
): Promise<ProgramResult> {
  const child = new Deno.Command(Deno.execPath(), {
    ...options,
    args: ["run", "--no-prompt", ...flags, "-"],
    cwd: new URL("..", import.meta.url),
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(program));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, stdout: out, stderr: err };
}
