import { zipFile } from "../../data/zip_file.ts";

const measured = Array.from({ length: 34 }, (_, i) => `M${i + 1}`);
const header = [...measured, "Age", "Gender", "Unit1", "Unit2", "HospAdmTime", "ICULOS", "SepsisLabel"];

/** A stay in the published format. Each hour has one measurement, and sepsis is marked from some hour on. */
export function stay(
  hours: readonly number[],
  { age = 60, unit = "NaN", septicFrom = Infinity } = {},
): string {
  const rows = hours.map((hour) => [
    ...measured.map((_, i) => i === hour % 34 ? `${hour + age / 100}` : "NaN"),
    ...[`${age}`, "1", unit, unit, "-0.5", `${hour}`, hour >= septicFrom ? "1" : "0"],
  ]);
  return [header, ...rows].map((fields) => fields.join("|")).join("\n") + "\n";
}

/** The whole numbers from 1. */
export const upTo = (hours: number) => Array.from({ length: hours }, (_, i) => i + 1);

/** Writes an archive of stays. */
export async function writeStays(
  folder: string,
  archive: string,
  files: Record<string, string>,
): Promise<void> {
  await Deno.writeFile(
    `${folder}/${archive}`,
    zipFile(Object.entries(files).map(([name, content]) => ({ name, content }))),
  );
}
