import { setTimeout } from "node:timers/promises";
import { show } from "../json.ts";
import { check } from "../reply.ts";
import { type Scenario, stdioOf } from "../scenario.ts";

const onStdio = { transports: ["stdio"] } as const;
const broken = '{"jsonrpc":"2.0","id":1,"method":';

export const stdio: readonly Scenario[] = [
  {
    id: "stdio/parse-error-survived",
    title: "the connection stays open after a line that is not JSON",
    requirements: ["C1", "A10"],
    strength: "must",
    ...onStdio,
    async run(context) {
      const { messages } = await (await context.shared()).sendInvalid(broken);
      return `sent ${broken}; got ${messages[0] ? show(messages[0]) : "nothing"}, and answers to later requests`;
    },
  },
  {
    id: "stdio/parse-error-answered",
    title: "a line that is not JSON is answered with -32700",
    requirements: ["A10"],
    strength: "should",
    ...onStdio,
    async run(context) {
      const { messages } = await (await context.shared()).sendInvalid(broken);
      const seen = messages[0] ? show(messages[0]) : "nothing";
      check(seen.includes("-32700"), () => `sent ${broken}; got ${seen}; expected error -32700`);
      return `sent ${broken}; got ${seen}`;
    },
  },
  {
    id: "stdio/split-bytes",
    title: "a message may arrive in pieces, split inside a character",
    requirements: ["C1", "A9"],
    strength: "must",
    ...onStdio,
    async run(context) {
      const peer = await context.shared();
      const id = "pieces 🌊 é 漢";
      const bytes = Buffer.from(`${JSON.stringify(peer.toRequest(context.revision.simplest, undefined, { id }))}\n`);
      const cut = bytes.indexOf(Buffer.from("🌊")) + 2;
      const wire = stdioOf(peer);
      wire.write(bytes.subarray(0, cut));
      // Long enough for the server to read the first piece.
      await setTimeout(20);
      wire.write(bytes.subarray(cut));
      const response = await peer.inbox.wait("the answer to a message in pieces", () => peer.inbox.responses(id)[0]);
      check("result" in response, () => `sent a request in pieces; got ${show(response)}; expected a result`);
      return `sent a request in two pieces; got ${show(response, 100)}`;
    },
  },
  {
    id: "stdio/coalesced",
    title: "several messages may arrive at once",
    requirements: ["C1"],
    strength: "must",
    ...onStdio,
    async run(context) {
      const peer = await context.shared();
      const ids = ["together 1", "together 2", "together 3"];
      const lines = ids.map((id) => JSON.stringify(peer.toRequest(context.revision.simplest, undefined, { id })));
      stdioOf(peer).write(`${lines.join("\n")}\n`);
      for (const id of ids) await peer.inbox.wait(`the answer to ${id}`, () => peer.inbox.responses(id)[0]);
      return "sent 3 requests in one piece; got 3 responses";
    },
  },
  {
    id: "stdio/crlf",
    title: "lines may end with CRLF, and empty lines are ignored",
    requirements: ["C1"],
    strength: "should",
    ...onStdio,
    async run(context) {
      const peer = await context.shared();
      const id = "carriage return";
      stdioOf(peer).write(`\n\r\n${JSON.stringify(peer.toRequest(context.revision.simplest, undefined, { id }))}\r\n`);
      const response = await peer.inbox.wait("the answer to a line with CRLF", () => peer.inbox.responses(id)[0]);
      check("result" in response, () => `sent a request that ends with CRLF; got ${show(response)}; expected a result`);
      return `sent two empty lines and a request that ends with CRLF; got ${show(response, 100)}`;
    },
  },
];
