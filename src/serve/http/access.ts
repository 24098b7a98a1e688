/** Which web pages may send requests to a server. */
import { RequestError } from "./problem.ts";

/** Allowed hosts and origins of requests. */
export interface Access {
  /** Allowed host names. Undefined allows any host. */
  readonly hosts?: readonly string[];
  /** Allowed origins of web pages, in addition to the server's origin. */
  readonly origins: readonly string[];
}

/** Host names of the loopback interface. */
export const loopbackNames: readonly string[] = ["127.0.0.1", "localhost", "[::1]"];

/**
 * Rejects requests by other websites from a visitor's browser. Such a page has another origin. If its domain
 * resolves to this machine (DNS rebinding), the request has that domain as its host.
 *
 * @param advice How to allow a host, at the end of the message.
 * @throws {RequestError} 403 for another host or origin.
 */
export function requireAccess(
  { origin: ownOrigin, hostname }: URL,
  origin: string | null,
  { hosts, origins }: Access,
  advice = "",
): void {
  if (hosts && !hosts.includes(hostname)) {
    throw new RequestError(403, `this host name is not allowed${advice}`);
  }
  if (origin === null || origin === ownOrigin || origins.includes(origin)) return;
  throw new RequestError(403, "web pages of other origins may not send requests to this server");
}
