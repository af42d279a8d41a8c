import { RpcError } from "portolan";
import { type Context, createServer } from "portolan/server";
import { expect, test } from "vitest";
import { revisions } from "../kit/revisions.ts";
import { connect, info } from "./peers.ts";

const ask = { messages: [], maxTokens: 5 };
const questions: [name: string, ask: (ctx: Context) => Promise<unknown>][] = [
  ["sample", (ctx) => ctx.sample("q", ask)],
  ["roots", (ctx) => ctx.roots("q")],
];

test.each(revisions.slice(0, 4).flatMap((revision) => questions.map((question) => [revision, ...question] as const)))(
  "on %s a refused ctx.%s rejects with an error of the kind question-refused",
  async (revision, _, question) => {
    const server = createServer(info).tool("t", {
      async run(_, ctx) {
        try {
          await question(ctx);
          return "answered";
        } catch (reason) {
          if (!(reason instanceof RpcError)) throw reason;
          return `${reason.kind}: ${reason.code} ${reason.message}`;
        }
      },
    });
    const answer = () => {
      throw { code: -1, message: "User rejected the request" };
    };
    const peer = await connect(server, { revision, capabilities: { sampling: {}, roots: {} }, answer });
    expect((await peer.callTool("t")).result.content[0].text).toBe("question-refused: -1 User rejected the request");
  },
);
