import assert from "node:assert/strict";
import { loopbackNames, requireAccess } from "../../src/serve/http/access.ts";
import { RequestError } from "../../src/serve/http/problem.ts";

const access = { hosts: loopbackNames, origins: ["https://allowed.example"] };
const request =
  (url: string, origin: string | null, allowed: Parameters<typeof requireAccess>[2] = access) => () =>
    requireAccess(new URL(url), origin, allowed);
const refused = (error: unknown) => error instanceof RequestError && error.status === 403;

Deno.test("a server accepts its own pages, allowed origins and programs", () => {
  for (const origin of ["http://127.0.0.1:8000", "https://allowed.example", null]) {
    request("http://127.0.0.1:8000/predict", origin)();
  }
  request("http://models.example/predict", null, { origins: [] })();
});

Deno.test("a server rejects other hosts and pages of other origins", () => {
  assert.throws(request("http://evil.example:8000/predict", null), refused);
  assert.throws(request("http://evil.example:8000/predict", "http://evil.example:8000"), refused);
  assert.throws(request("http://127.0.0.1:8000/predict", "http://evil.example"), refused);
  assert.throws(request("http://127.0.0.1:8000/predict", "http://127.0.0.1:9000"), refused);
  assert.throws(request("http://localhost/predict", "http://localhost.evil.example"), refused);
});
