import { flag } from "./option.ts";

/** Reason of an {@linkcode OptionError}. */
export type OptionErrorCode =
  | "unknown-option"
  | "invalid-option"
  | "missing-option"
  | "unusable-option"
  | "conflicting-options"
  | "unknown-experiment"
  | "unknown-model";

/** An option, or a combination of options, that an experiment rejects. */
export class OptionError extends RangeError {
  /** Reason, for programs. */
  readonly code: OptionErrorCode;
  /** Name of the option. */
  readonly option: string | undefined;
  /** Message for the command line, with flags instead of option names. */
  readonly commandLineMessage: string;

  /**
   * Makes an error about an option.
   *
   * @param code Reason, for programs.
   * @param option Name of the option, such as `"learningRate"`; `undefined` for several.
   * @param text Returns the message. Its argument formats the name of an option.
   */
  constructor(
    code: OptionErrorCode,
    option: string | undefined,
    text: (write: (option: string) => string) => string,
  ) {
    super(text((name) => name));
    this.name = "OptionError";
    this.code = code;
    this.option = option;
    this.commandLineMessage = text(flag);
  }
}
