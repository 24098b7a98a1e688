/// <reference lib="dom" />
/** The state of the page in its address, so that a link shows what its sender saw. */
import type { Point } from "./pad.ts";

/** State of the page. A member that has its default is undefined. */
export type LinkState =
  & {
    -readonly [
      /** Value of a setting by the id of its element. */
      Name in "example" | "model" | "path" | "method" | "device" | "epochs" | "steps" | "channel" | "full"
    ]?: string;
  }
  & {
    /** Number of epochs of a training that has ended or was stopped. */
    after?: string;
    /** Name of the shown series. */
    series?: string;
    /** Its moment. */
    moment?: string;
    /** Points of the drawing, such as `12.5_40-30_41`. */
    draw?: string;
    /** A visitor's table as `tableText` writes it, its name, and how it is read, as JSON. */
    table?: string;
    file?: string;
    columns?: string;
  };

const names = [
  "example",
  "model",
  "path",
  "method",
  "device",
  "epochs",
  "steps",
  "channel",
  "full",
  "after",
  "series",
  "moment",
  "draw",
  "table",
  "file",
  "columns",
];

/** Maximum number of bytes of a compressed table in the address. */
const mostTableBytes = 4096;

/** The state in the address of the page. */
export function linkState(): LinkState {
  const given = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries([...given].filter(([name]) => names.includes(name)));
}

/** Puts a state into the address. The history of the browser keeps one entry for the page. */
export function setLinkState(state: LinkState): void {
  const given = Object.entries(state).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(given).toString();
  history.replaceState(null, "", text ? `#${text}` : location.pathname);
}

/** Points as a text of the address. */
export function pointsText(points: readonly Point[]): string {
  return points.map((point) => point.join("_")).join("-");
}

/** Points of a text of the address; other texts are left out. */
export function pointsOf(text = ""): Point[] {
  return text.split("-").map((one) => one.split("_").map(Number)).flatMap(([x, y]) =>
    x >= 0 && x <= 100 && y >= 0 && y <= 100 ? [[x, y] as const] : []
  );
}

/** A table as a compressed text of the address. Undefined if it is too large. */
export async function tableText(table: Blob): Promise<string | undefined> {
  const bytes = await bytesThrough(table, new CompressionStream("deflate-raw"));
  if (bytes.length > mostTableBytes) return undefined;
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The table of a text of the address. @throws {Error} If the text is damaged. */
export async function tableOf(text: string, name = "table.csv"): Promise<File> {
  const bytes = Uint8Array.from(
    atob(text.replaceAll("-", "+").replaceAll("_", "/")),
    (letter) => letter.charCodeAt(0),
  );
  return new File([await bytesThrough(new Blob([bytes]), new DecompressionStream("deflate-raw"))], name);
}

async function bytesThrough(
  blob: Blob,
  stream: CompressionStream | DecompressionStream,
): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(blob.stream().pipeThrough(stream)).arrayBuffer());
}
