import type { JsonObject, Message } from "portolan";
import { expect } from "vitest";
import { type ChildChannel, connectStdio } from "../../../kit/raw-peer.ts";
import { isStateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { answersTo, childOf, noId, simplest, textOf, wireServer } from "../../wire.ts";

const server = wireServer;

/** Collects the standard output of a child from now on. */
function watchOutput({ child }: ChildChannel): () => string {
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString("utf8");
}

function line(message: JsonObject): string {
  return `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
}

/** Lines of standard input and output, and other output. */
export const lines: readonly Requirement[] = [
  {
    row: "C1",
    says: "every line of standard output is one message, whatever text it contains",
    async test(open, { revision }) {
      const peer = await open({ server });
      const output = watchOutput(childOf(peer));
      expect(textOf(await peer.callTool("noise"))).toBe("one\ntwo\r\nthree\u2028four");
      if (revision === "2025-03-26") {
        const last = peer.responseTo("b");
        peer.sendBatch(["a", "b"].map((id): Message => ({ jsonrpc: "2.0", id, method: "ping" })));
        await last;
      }
      const lines = output().split("\n");
      expect(lines.pop()).toBe("");
      expect(lines).toHaveLength(revision === "2025-03-26" ? 2 : 1);
      for (const text of lines) {
        expect(JSON.parse(text)).toBeTypeOf("object");
        expect(text).not.toContain("\r");
      }
    },
  },
  {
    row: "C2",
    says: "output of handlers is not sent to the client",
    async test(open) {
      const peer = await open({ server });
      const output = watchOutput(childOf(peer));
      await peer.callTool("noise");
      await peer.callTool("noise");
      await peer.settled();
      expect(output()).not.toContain("noise:");
      expect(output()).not.toContain("a print");
      expect(output().trim().split("\n")).toHaveLength(3);
      expect(peer.strays).toEqual([]);
      expect(answersTo(peer, 1)).toBe(1);
    },
  },
  {
    row: "C3",
    says: "output of handlers goes to standard error",
    async test(open) {
      const peer = await open({ server });
      const { result } = await peer.callTool("noise");
      expect(result.isError).toBeUndefined();
      await peer.close();
      const { stderr } = childOf(peer);
      for (const text of ["noise: console.log", "a print", "noise: process.stdout.write", "noise: console.error"])
        expect(stderr).toContain(text);
    },
  },
  {
    row: "X-R09",
    says: "a byte order mark, other line ends, blank lines and split characters are accepted",
    async test(open, { revision }) {
      const peer = await open({ handshake: false });
      const channel = childOf(peer);
      const [first, second, third] = ["one", "two", "drei"].map((id) => peer.responseTo(id));
      const params = isStateless(revision)
        ? peer.describe({})
        : { protocolVersion: revision, capabilities: {}, clientInfo: { name: "é", version: "1" } };
      channel.write("\ufeff");
      channel.write(
        `\r\n\n  \n${line({ id: "one", method: isStateless(revision) ? "server/discover" : "initialize", params }).replace("\n", "\r\n")}`,
      );
      expect((await first)?.result.capabilities).toBeDefined();
      const bytes = Buffer.from(
        line({
          id: "two",
          method: "tools/call",
          params: peer.describe({ name: "echo", arguments: { message: "€😀" } }),
        }),
      );
      const cut = bytes.indexOf(0xf0) + 2;
      channel.write(bytes.subarray(0, cut));
      await new Promise((resolve) => setImmediate(resolve));
      channel.write(
        Buffer.concat([
          bytes.subarray(cut),
          Buffer.from(`\n\t\n${line({ id: "drei", method: simplest(revision), params: peer.describe({}) })}`),
        ]),
      );
      expect(textOf((await second) ?? {})).toBe("€😀");
      expect((await third)?.result).toBeDefined();
      expect(peer.strays).toEqual([]);
    },
  },
  {
    row: "X-R10",
    says: "a line with invalid UTF-8 is a parse error with its id, and other lines are read",
    async test(open, { revision }) {
      const peer = await open();
      const responses = ["a", "broken", "b"].map((id) => peer.responseTo(id));
      const echo = (id: string) =>
        line({ id, method: "tools/call", params: peer.describe({ name: "echo", arguments: { message: "x" } }) });
      const broken = Buffer.from(echo("broken"));
      broken[broken.indexOf('"x"') + 1] = 0xff;
      const nameless = Buffer.from(`{"method":"\ud800"}\n`);
      nameless[nameless.length - 4] = 0xc3;
      childOf(peer).write(Buffer.concat([Buffer.from(echo("a")), broken, nameless, Buffer.from(echo("b"))]));
      const [a, refused, b] = await Promise.all(responses);
      expect(textOf(a ?? {})).toBe("x");
      expect(refused?.error?.code).toBe(-32700);
      expect(textOf(b ?? {})).toBe("x");
      expect(peer.strays).toEqual([
        { jsonrpc: "2.0", ...noId(revision), error: expect.objectContaining({ code: -32700 }) },
      ]);
    },
  },
  {
    row: "X-T33",
    says: "an oversized line is refused with its id, wherever the id stands, and the connection stays open",
    async test(_open, { revision }) {
      const peer = await connectStdio(server, { revision }, { MAX_MESSAGE_BYTES: "4096" });
      const params = peer.describe({
        name: "any",
        arguments: { text: "x".repeat(10_000), id: "not this", nested: [{ id: 5 }] },
      });
      for (const message of [
        { id: "early", method: "tools/call", params },
        { method: "tools/call", params, id: 77 },
      ]) {
        const response = peer.responseTo(message.id);
        peer.channel.write(line(message));
        expect((await response).error).toEqual({ code: -32600, message: expect.stringContaining("4096") });
      }
      peer.channel.write(line({ id: 1_000, result: { text: "x".repeat(10_000) } }));
      peer.channel.write(`${"x".repeat(10_000)}\n`);
      peer.channel.write(line({ method: "notifications/x", params }));
      expect(textOf(await peer.callTool("any", { fits: true }))).toBe('{"fits":true}');
      expect(peer.strays).toEqual([
        { jsonrpc: "2.0", ...noId(revision), error: expect.objectContaining({ code: -32600 }) },
      ]);
      await peer.close();
      expect(await peer.channel.exited).toBe(0);
    },
  },
];
