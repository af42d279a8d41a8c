import { describe, expect, test } from "vitest";
import type { Head, HttpAuth, OutgoingRequest } from "./options.ts";
import { answerChallenge, followRedirect } from "./resend.ts";

const request = (method: OutgoingRequest["method"], url = "http://host:8080/mcp"): OutgoingRequest => ({
  method,
  url: new URL(url),
  body: undefined,
});
const headOf = (status: number, headers: { [name: string]: string } = {}): Head => ({
  status,
  header: (name) => headers[name],
});

describe("followRedirect", () => {
  test.each([
    ["POST", 307, "/other", "http://host:8080/other"],
    ["POST", 308, "http://host:8080/other?x=1", "http://host:8080/other?x=1"],
    ["POST", 308, "https://host:8080/mcp", "https://host:8080/mcp"],
    ["GET", 301, "/other", "http://host:8080/other"],
    ["GET", 302, "/other", "http://host:8080/other"],
    ["DELETE", 307, "/other", "http://host:8080/other"],
  ] as const)("follows %s %i to %s", (method, status, location, target) => {
    expect(followRedirect(request(method), headOf(status, { location }), 0).href).toBe(target);
  });

  test.each([
    ["another host", "POST", 307, "http://other:8080/mcp"],
    ["another port", "POST", 307, "http://host:9090/mcp"],
    ["a subdomain", "POST", 307, "http://x.host:8080/mcp"],
    ["credentials", "POST", 307, "http://user:secret@host:8080/mcp"],
    ["a POST that would become a GET", "POST", 302, "/other"],
    ["a GET with status 303", "GET", 303, "/other"],
  ] as const)("does not follow to %s", (_, method, status, location) => {
    expect(() => followRedirect(request(method), headOf(status, { location }), 0)).toThrow(
      /answered \d+, a redirect to .* that is not followed/,
    );
  });

  test("does not go back from https to http", () => {
    const head = headOf(308, { location: "http://host/mcp" });
    expect(() => followRedirect(request("POST", "https://host/mcp"), head, 0)).toThrow("not followed");
  });

  test("stops after two redirects and keeps the query secret", () => {
    const head = headOf(307, { location: "/loop?token=secret" });
    expect(() => followRedirect(request("GET"), head, 2)).toThrow(
      "GET http://host:8080/mcp was redirected more than 2 times, last to http://host:8080/loop?…",
    );
  });

  test("names a missing or invalid Location header", () => {
    for (const headers of [{}, { location: "http://[" }]) {
      expect(() => followRedirect(request("GET"), headOf(307, headers), 0)).toThrow("without a valid Location header");
    }
  });
});

describe("answerChallenge", () => {
  const about = {
    request: { ...request("POST"), server: new URL("http://host:8080/mcp") },
    sent: { Authorization: "Bearer t0ken" },
    operation: {},
    signal: new AbortController().signal,
  };

  test("resolves if the hook wants another attempt, and looks headers up without case", async () => {
    const seen: unknown[] = [];
    const auth: HttpAuth = {
      authorize: () => ({}),
      async challenged({ status, header, body }) {
        seen.push(status, header("WWW-Authenticate"), body);
        return "retry";
      },
    };
    await answerChallenge(about, headOf(401, { "www-authenticate": "Bearer" }), "who?", auth);
    expect(seen).toEqual([401, "Bearer", "who?"]);
  });

  test("rejects without a hook, and hides a token that the server repeats", async () => {
    const head = headOf(403, { "content-type": "text/plain", "www-authenticate": "Bearer" });
    const answering = answerChallenge(about, head, "bad token t0ken", undefined);
    await expect(answering).rejects.toMatchObject({ code: "unauthorized", status: 403, neverRan: true });
    await expect(answering).rejects.toThrow("answered 403: bad token …");
  });
});
