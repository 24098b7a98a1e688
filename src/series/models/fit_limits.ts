/** Limits of the data of fits, by which models choose their sizes and estimate their operations. */

/** Maximum number of training series with the full number of random convolutions. */
export const manySeries = 1000;

/** Maximum number of rows to fit trees to: one for each step of a channel. With more, some windows are left out. */
export const maxTreeRows = 50_000;
