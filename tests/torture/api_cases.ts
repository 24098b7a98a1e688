/** Calls of the library with one invalid argument. Each must throw one of the library's messages. */
import * as weft from "../../mod.ts";
import type { Choices } from "./choices.ts";
import { faultOfMessage } from "./commands.ts";
import { functionSubjects } from "./function_subjects.ts";
import { endlessSubjects, modelSubjects } from "./model_subjects.ts";
import type { Arguments, Subject } from "./subjects.ts";

/** Calls a function with an invalid argument, and sometimes with valid arguments, which must succeed. */
export async function apiCase(choices: Choices): Promise<[what: string, fault?: string]> {
  return await callWrongly([...functionSubjects, ...modelSubjects], choices);
}

/** Like {@linkcode apiCase}, for arguments that could cause an infinite loop. */
export async function endlessCase(choices: Choices): Promise<[what: string, fault?: string]> {
  return await callWrongly(endlessSubjects, choices);
}

async function callWrongly(
  subjects: readonly Subject[],
  choices: Choices,
): Promise<[what: string, fault?: string]> {
  const subject = choices.of(subjects);
  if (choices.chance(0.1)) {
    const what = `${subject.name} with valid arguments`;
    return await attempt(subject, subject.valid()).then(() => [what], (error) => [what, `refused: ${error}`]);
  }
  const field = choices.of(Object.keys(subject.wrong));
  const wrong = subject.wrong[field];
  const values = typeof wrong === "function" ? wrong() : wrong;
  const at = choices.below(values.length);
  const what = `${subject.name} with ${field} = ${describe(values[at])}`;
  return await attempt(subject, { ...subject.valid(), [field]: values[at] }).then(
    () => [what, "taken in silence"],
    (error) => [what, error instanceof Error ? faultOfMessage(error.message) : `not an error: ${error}`],
  );
}

/** Calls a function. A resulting tensor is read, because errors may only appear then. */
async function attempt({ call }: Subject, args: Arguments): Promise<void> {
  const result = await call(args);
  if (result instanceof weft.Tensor) await result.data();
}

function describe(value: unknown): string {
  if (value instanceof weft.Tensor) return `${value.dtype} (${value.shape})`;
  return Array.isArray(value)
    ? `[${value.map(describe)}]`
    : typeof value === "object"
    ? JSON.stringify(value)
    : `${value}`;
}
