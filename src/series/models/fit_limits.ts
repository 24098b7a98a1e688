/** Numbers of series and rows that decide the sizes of fitted models, and the estimates of their operations. */

/** Maximum number of training series with the full number of random convolutions. */
export const manySeries = 1000;

/** Maximum number of rows to fit trees to: one for each step of a channel. With more, some windows are left out. */
export const maxTreeRows = 50_000;
