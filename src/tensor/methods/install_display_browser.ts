/** Replaces `install_display.ts` in applications for browsers, which show no notebooks: see `tasks/pack.ts`. */
export {};
