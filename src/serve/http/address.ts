/** Addresses of requests (RFC 9112, section 3.2). */
import type { IncomingMessage } from "node:http";
import { RequestError } from "./problem.ts";

/** A host as in a `Host` header: a name, an IPv4 address or an IPv6 address in brackets, and a port. */
const hostPattern = /^(\[[\da-f:.]+\]|[\w.~%!$&'()*+,;=-]+)(:\d*)?$/i;

/**
 * The URL of a request. An absolute address takes precedence over the `Host` header.
 *
 * @throws {RequestError} 400 if the address or the host is invalid, or there are several hosts.
 */
export function addressOf(
  { url = "/", headersDistinct }: Pick<IncomingMessage, "url" | "headersDistinct">,
): URL {
  const hosts = headersDistinct.host ?? [];
  if (hosts.length > 1) throw new RequestError(400, "several Host headers");
  // HTTP/1.0 does not need a host.
  const [host = "localhost"] = hosts;
  if (!hostPattern.test(host)) throw new RequestError(400, "an invalid Host header");
  const [, authority = host, rest = url] = /^http:\/\/([^/?#]*)([^]*)$/i.exec(url) ?? [];
  const target = rest === "" || rest.startsWith("?") ? `/${rest}` : rest;
  const parsed = hostPattern.test(authority) && target.startsWith("/") && !target.includes("#")
    ? URL.parse(`http://${authority}${target}`)
    : undefined;
  if (parsed) return parsed;
  throw new RequestError(400, "an invalid address; expected a path, or an address that begins with http://");
}
