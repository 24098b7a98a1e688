/** A client's connection: limits what the HTTP parser reads ahead, and observes whether answers are read. */
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
import type { Account, Charge, MemoryUse } from "../account.ts";
import type { Turn, Turns } from "./turns.ts";

/** Maximum number of bytes that are read at once: of headers, of the rest of a body, and of a WebSocket. */
export const headPart: number = 2 ** 10;
const [bodyPart, messagePart] = [2 ** 16, 2 ** 10];

/** Maximum number of bytes of one write to the socket. Each write that ends shows that the client reads. */
const writtenPart = 2 ** 18;

/** Milliseconds for the end of a write before a connection with an error is closed. */
const lastWrite = 500;

/** Bytes of the account for a request that waits for an earlier answer of its connection, without its headers. */
const requestBytes = 2 ** 12;

type Callback = (error?: Error | null) => void;

/**
 * The stream between a socket and the HTTP parser.
 *
 * The parser would read all requests that a client sends without waiting for answers. This stream passes on
 * small parts, and nothing while a request waits for its answer: requests of a connection are answered one
 * after another.
 */
export class Connection extends Duplex {
  /** Time of the last activity of the client, in milliseconds of `performance.now()`. */
  activeAt: number = performance.now();
  /** Called when the client ends the connection while its request waits for an answer. */
  onGone: () => void = () => {};
  private isReading = false;
  private hasEnded = false;
  private isWanted = false;
  private isTunnel = false;
  private bodyLeft = 0;
  private writing: Promise<void> = Promise.resolve();
  private timeoutAt = Infinity;
  private answerUntil = Infinity;
  private current?: IncomingMessage;
  private readonly incomplete: Charge[] = [];
  private readonly waiting: { message: IncomingMessage; start: () => void; charge: Charge }[] = [];
  private readonly charges = new Set<Charge>();

  /**
   * @param turns Turns of all connections that send requests without waiting for answers.
   * @param charge Memory of the connection, which the connection returns when it ends.
   * @param received The first bytes that were received.
   */
  constructor(
    private readonly socket: Deno.TcpConn,
    private readonly account: Account,
    private readonly turns: Turns,
    charge: Charge,
    private received: Uint8Array | undefined,
  ) {
    super({ readableHighWaterMark: 1 });
    this.charges.add(charge);
    this.on("error", () => {});
    this.on("close", () => this.release());
  }

  /** Whether no request is being received or answered. */
  get isIdle(): boolean {
    return this.current === undefined && !this.isTunnel;
  }

  /** Takes bytes of the account until the charge is disposed or the connection ends. @throws {RequestError} */
  charge(use: MemoryUse, bytes: number): Charge {
    const charge = this.account.take(use, bytes);
    if (this.destroyed) charge[Symbol.dispose]();
    else this.charges.add(charge);
    return {
      [Symbol.dispose]: () => {
        this.charges.delete(charge);
        charge[Symbol.dispose]();
      },
    };
  }

  /** Starts to answer a request, or queues the request behind earlier ones. `answered` must follow. */
  answer(message: IncomingMessage, start: () => void): void {
    if (!this.current) return this.begin(message, start);
    const length = message.rawHeaders.reduce((sum, text) => sum + text.length, 0);
    try {
      this.waiting.push({ message, start, charge: this.charge("connections", requestBytes + length) });
    } catch {
      this.destroy();
    }
  }

  /** Closes the connection if the current request is not answered and read within a time. */
  limitAnswer(milliseconds: number): void {
    this.answerUntil = performance.now() + milliseconds;
  }

  /** Ends the current request. The next one begins after events of other connections. */
  answered(): void {
    this.current = undefined;
    this.answerUntil = Infinity;
    this.activeAt = performance.now();
    if (this.waiting.length === 0 && !this.received) return this.pass();
    this.turns.ask(() => {
      const next = this.destroyed ? undefined : this.waiting.shift();
      next?.charge[Symbol.dispose]();
      if (next) this.begin(next.message, next.start);
      this.pass();
      return { hasMore: false, isLarge: true };
    });
  }

  /** The connection is a WebSocket from now on: its bytes pass unchanged. @param start Called when it is this connection's turn. */
  openTunnel(start: () => void): void {
    this.isTunnel = true;
    this.turns.ask(() => {
      if (!this.destroyed) start();
      this.pass();
      return { hasMore: false, isLarge: false };
    });
  }

  /** A complete message has arrived: earlier bytes are no longer part of an incomplete message. */
  messageTaken(): void {
    for (const charge of this.incomplete.splice(0)) charge[Symbol.dispose]();
  }

  /** Closes the connection and returns its memory to the account. */
  abandon(): void {
    this.release();
    this.destroy();
  }

  /** As of a socket: emits "timeout" after a time. 0 cancels it. */
  setTimeout(milliseconds: number): this {
    this.timeoutAt = milliseconds > 0 ? performance.now() + milliseconds : Infinity;
    return this;
  }

  /** Acts on times that are over. Called about once a second: timers for each request would take longer. */
  checkTimes(now: number): void {
    if (now > this.answerUntil) return void this.destroy();
    if (now <= this.timeoutAt) return;
    this.timeoutAt = Infinity;
    this.emit("timeout");
  }

  /** As of a socket: closes the connection when all is written. */
  destroySoon(): void {
    this.end(() => this.destroy());
  }

  override _read(): void {
    this.isWanted = true;
    this.pass();
  }

  override _write(chunk: Uint8Array, _: string, done: Callback): void {
    this.writing = this.writeAll(chunk);
    this.writing.then(() => done(), done);
  }

  override _writev(chunks: { chunk: Uint8Array }[], done: Callback): void {
    const length = chunks.reduce((sum, { chunk }) => sum + chunk.length, 0);
    if (length <= writtenPart) return this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), "", done);
    // A copy of a large answer would double its memory.
    this.writing = chunks.reduce(
      (last, { chunk }) => last.then(() => this.writeAll(chunk)),
      Promise.resolve(),
    );
    this.writing.then(() => done(), done);
  }

  override _final(done: Callback): void {
    this.socket.closeWrite().then(() => done(), () => done());
  }

  override _destroy(error: Error | null, done: Callback): void {
    const close = () => {
      this.socket.close();
      done(error);
    };
    // The parser answers a malformed request immediately before it destroys the connection.
    if (!error || this.writableLength === 0) return close();
    const late = new Promise((resolve) => setTimeout(resolve, lastWrite));
    Promise.race([this.writing.catch(() => {}), late]).then(close);
  }

  private async writeAll(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length;) {
      at += await this.socket.write(chunk.subarray(at, at + writtenPart));
      this.activeAt = performance.now();
    }
  }

  private begin(message: IncomingMessage, start: () => void): void {
    this.current = message;
    this.bodyLeft = Number(message.headers["content-length"] ?? 0);
    start();
  }

  private release(): void {
    for (const charge of [...this.charges]) charge[Symbol.dispose]();
    this.charges.clear();
    this.waiting.length = 0;
    this.received = undefined;
  }

  /** Passes one part on, unless a request waits for its answer. Messages and large parts take turns. */
  private pass(): void {
    if (this.destroyed) return;
    // Read one part ahead while a request waits for its answer, to notice that the client ends the connection.
    if (!this.received && !this.hasEnded && !this.isReading) void this.receive();
    const isLarge = this.isTunnel || this.received !== undefined && this.received.length > headPart;
    if (isLarge && this.isReady) this.turns.ask(this.passPart);
    else this.passPart();
  }

  /** Whether a part has arrived that can be passed on. */
  private get isReady(): boolean {
    const isHeld = !this.isTunnel && (this.waiting.length > 0 || this.current?.complete);
    return this.isWanted && !isHeld && (this.received !== undefined || this.hasEnded);
  }

  private readonly passPart = (): Turn => {
    if (!this.destroyed && this.isReady) {
      const part = this.received;
      const end = part && !this.isTunnel && part.length <= headPart ? endOfHead(part) : Infinity;
      this.isWanted = false;
      this.received = part && end < part.length ? part.subarray(end) : undefined;
      if (part && this.isTunnel && !this.takeIncomplete(part.length)) this.destroy();
      else this.push(part?.subarray(0, end) ?? null);
    }
    return { hasMore: false, isLarge: false };
  };

  private async receive(): Promise<void> {
    this.isReading = true;
    try {
      const buffer = new Uint8Array(this.partLength());
      const length = await this.socket.read(buffer);
      this.isReading = false;
      if (this.destroyed) return;
      this.activeAt = performance.now();
      if (length === null) {
        this.hasEnded = true;
        if (this.current?.complete) this.onGone();
        // Node's server would destroy them with an error each, whose stack takes longer than an answer.
        for (const message of [this.current, ...this.waiting.map(({ message }) => message)]) {
          message?.destroy();
        }
      } else this.received = buffer.subarray(0, length);
      if (this.bodyLeft > 0) this.bodyLeft -= length ?? 0;
      this.pass();
    } catch {
      this.destroy();
    }
  }

  /** Takes bytes for a part of a message, until the message is complete. Returns whether there is memory. */
  private takeIncomplete(bytes: number): boolean {
    try {
      this.incomplete.push(this.charge("answers", bytes));
      return true;
    } catch {
      return false;
    }
  }

  private partLength(): number {
    if (this.isTunnel) return messagePart;
    return Math.max(headPart, Math.min(bodyPart, this.bodyLeft));
  }
}

/** Number of bytes up to the first empty line. The parser makes an object for each request that it is passed. */
function endOfHead(bytes: Uint8Array): number {
  const [cr, lf] = [13, 10];
  for (let i = bytes.indexOf(cr); i >= 0; i = bytes.indexOf(cr, i + 1)) {
    if (bytes[i + 1] === lf && bytes[i + 2] === cr && bytes[i + 3] === lf) return i + 4;
  }
  return bytes.length;
}
