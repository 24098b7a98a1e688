/// <reference lib="dom" />
/** Elements of the page, its status line, and its box of errors. */
import { escapeText } from "../src/charts/format.ts";
import { CallError } from "./client.ts";

/** The element with an id in `index.html`. */
export function byId<Kind extends Element = HTMLElement>(id: string): Kind {
  return document.getElementById(id) as Element as Kind;
}

const lists = ["example", "model", "path", "method", "device", "series", "channel"] as const;
/** Lists of choices by id. */
export const select = Object.fromEntries(lists.map((id) => [id, byId(id)])) as Record<
  typeof lists[number],
  HTMLSelectElement
>;
const buttons = ["train", "pause", "step", "stop", "save", "test-series", "clear", "share", "own"] as const;
/** Buttons by id. */
export const button = Object.fromEntries(buttons.map((id) => [id, byId(id)])) as Record<
  typeof buttons[number],
  HTMLButtonElement
>;

/** Replaces the choices of a list. Each has a value and a text. */
export function setOptions(list: HTMLSelectElement, options: readonly (readonly string[])[]): void {
  list.innerHTML = options.map(([value, text]) =>
    `<option value="${escapeText(value)}">${escapeText(text)}</option>`
  ).join("");
}

/** Selects a value that a list may lack. @param text Text of such a value, which leaves the list with the next call. */
export function selectValue(list: HTMLSelectElement, value: string, text = value): void {
  list.querySelector("option.extra")?.remove();
  if (![...list.options].some((option) => option.value === value)) {
    const option = new Option(text, value);
    option.className = "extra";
    list.add(option);
  }
  list.value = value;
}

/** Shows the state of the session. */
export function showStatus(text: string): void {
  byId("status").textContent = text;
}

/** Shows an error of a call: its code, what is wrong, and how to correct it. */
export function showFault(error: unknown): void {
  const { code, message } = error instanceof CallError
    ? error.fault
    : { code: undefined, message: `${error}` };
  const box = byId("fault");
  box.innerHTML = `${code ? `<code>${escapeText(code)}</code>: ` : ""}${escapeText(message)}`;
  box.hidden = false;
  box.scrollIntoView({ block: "nearest" });
}

/** Runs an action of the visitor. Its error replaces the last one. */
export async function act(action: () => Promise<void>): Promise<void> {
  const box = byId("fault");
  box.hidden = true;
  box.textContent = "";
  await action().catch(showFault);
}

/**
 * Makes a function that runs an action, one run at a time: a call during a run starts another run after it, whose error counts
 * alone.
 */
export function oneAtATime(action: () => Promise<void>): () => Promise<void> {
  let isDue = false;
  let running: Promise<void> | undefined;
  const run = async () => {
    while (isDue) {
      isDue = false;
      await action().catch((error) => {
        if (!isDue) throw error;
      });
    }
  };
  return () => {
    isDue = true;
    return running ??= run().finally(() => running = undefined);
  };
}

/** Calls a function with the chosen files of an input. The same files can be chosen again. */
export function onFiles(id: string, receive: (files: File[]) => Promise<void>): void {
  const input = byId<HTMLInputElement>(id);
  input.addEventListener("change", () => {
    const files = [...input.files ?? []];
    input.value = "";
    if (files.length > 0) void act(() => receive(files));
  });
}
