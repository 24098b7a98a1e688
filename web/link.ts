/// <reference lib="dom" />
/** The state of the page in its address, so that a link shows what its sender saw. */
import type { Point } from "./pad.ts";

/** State of the page. A member that has its default is undefined. */
export type LinkState =
  & {
    -readonly [
      /** Value of a setting by the id of its element. */
      Name in "example" | "model" | "path" | "method" | "device" | "epochs" | "full"
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
  };

const names = [
  "example",
  "model",
  "path",
  "method",
  "device",
  "epochs",
  "full",
  "after",
  "series",
  "moment",
  "draw",
];

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
