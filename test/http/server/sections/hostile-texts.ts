import { expect } from "vitest";
import { ServerProcess } from "../../../http-faults/processes.ts";
import { createFixture } from "../../fixture.ts";
import { send, start } from "../../kit.ts";
import { open, SessionPeer, toHeaders } from "../../peer.ts";
import type { HttpRequirement } from "../requirement.ts";

/** Line ends, terminal escapes, a change of writing direction, and other ways to break a log line. */
const escapes = ["\n2026-01-01 all is well", "\r\n", "\u001b]0;owned\u0007", "\u009b31m", "\u202e", "\u2028", "\u0000"];

/** Encodes a text for a header that cannot carry it. */
const encoded = (text: string) => `=?base64?${Buffer.from(text).toString("base64")}?=`;

export const hostileTexts: readonly HttpRequirement[] = [
  {
    // Each text would keep a backtracking matcher busy until the time limit of the test.
    row: "T19",
    says: "headers and URIs that provoke slow matching are answered promptly",
    async test(revision) {
      const { server } = createFixture();
      server.update((current) => current.template("list:{/path*}{?query*}!", { name: "list", read: () => "found" }));
      const { url } = await start(server);
      const peer = await open(url, revision);
      const own = peer instanceof SessionPeer ? peer.headers : toHeaders("tools/list");
      const long = (unit: string) => unit.repeat(Math.floor(10_000 / unit.length));
      for (const headers of [
        { accept: long("text/*;q=0,") },
        { accept: long(";q=") },
        { accept: long(" ") },
        { "content-type": `application/json${long('; a="')}` },
        { origin: `http://${long("a.")}` },
        { host: long("[") },
        { "content-encoding": long("identity, ") },
        { "mcp-session-id": long("a") },
        { "last-event-id": long("a_") },
        { "mcp-method": `=?base64?${long("A=")}?=` },
      ]) {
        const { status } = await send(url, { headers: { ...own, ...headers }, body: "{}" });
        expect([headers, status >= 400 && status < 500]).toEqual([headers, true]);
      }
      for (const [start, unit] of [
        ["list:", "/a"],
        ["list:?", "a=1&"],
        ["list:", "%2F"],
        ["", "%"],
      ] as const) {
        // Longer URIs do not fit into the header that mirrors them.
        for (const length of peer instanceof SessionPeer ? [8_000, 1_000_000] : [8_000]) {
          const uri = start + unit.repeat(Math.floor((length - start.length) / unit.length));
          const { error } = await (await peer.request("resources/read", { uri })).json();
          expect([start, unit, [-32002, -32602].includes(error?.code ?? 0)]).toEqual([start, unit, true]);
        }
      }
      expect(await peer.textOf("echo", { text: "alive" })).toBe("alive");
    },
  },
  {
    row: "T22",
    says: "no text of a client is written to the output of the process",
    adapter: "node",
    async test(revision) {
      const server = await ServerProcess.start();
      const peer = await open(server.url, revision);
      for (const text of escapes) {
        expect(await peer.textOf("echo", { text })).toBe(text);
        const [tool, method] = [`no such tool ${text}`, `no/such/method ${text}`];
        const unknown = await (await peer.call(tool, {}, 1, { "mcp-name": encoded(tool) })).json();
        expect(unknown.error?.code).toBe(-32602);
        const missing = await (await peer.request(method, { text }, text, { "mcp-method": encoded(method) })).json();
        expect([missing.id, missing.error?.code]).toEqual([text, -32601]);
        await (await send(server.url, { body: `{"jsonrpc":"2.0","id":1,${text}` })).text();
      }
      expect(await peer.textOf("echo", { text: "alive" })).toBe("alive");
      await server.kill();
      expect(server.output).toBe("");
    },
  },
];
