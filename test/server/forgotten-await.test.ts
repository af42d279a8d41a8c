import { createServer } from "portolan/server";
import { describe, expect, test } from "vitest";
import { revisions } from "../kit/revisions.ts";
import { connect, info } from "./peers.ts";

const turn = () => new Promise((resolve) => setTimeout(resolve, 5));
const stateful = revisions.slice(2, 4);
const capabilities = { elicitation: {} };

/** A server that deletes without waiting for the user's yes. */
function forgetful() {
  const reported: Error[] = [];
  const onError = (error: unknown) => {
    reported.push(error as Error);
  };
  const server = createServer(info, { onError })
    .tool("at_once", {
      run(_, ctx) {
        ctx.confirm("sure", "Sure?");
        return "deleted";
      },
    })
    .tool("after_work", {
      async run(_, ctx) {
        ctx.confirm("sure", "Sure?");
        await turn();
        return "deleted";
      },
    })
    .tool("sample", {
      async run(_, ctx) {
        ctx.sample("poem", { messages: [], maxTokens: 5 });
        await turn();
        return "a poem";
      },
    });
  return { server, reported };
}

describe.each(stateful)("on %s", (revision) => {
  test.each(["at_once", "after_work"])("a question that is not awaited fails the call: %s", async (name) => {
    const { server, reported } = forgetful();
    // A client that never answers.
    const peer = await connect(server, { revision, capabilities, answer: () => new Promise(() => {}) });
    const { result, error } = await peer.callTool(name);
    expect(result).toBeUndefined();
    expect(error?.code).toBe(-32603);
    expect(reported).toMatchObject([{ code: "invalid-definition" }]);
    expect(reported[0]?.message).toContain("returned although the client is being asked: await each question");
    const cancelled = peer.notifications.filter(({ method }) => method === "notifications/cancelled");
    expect(cancelled.map(({ params }) => params?.["requestId"])).toEqual(peer.questions.map(({ id }) => id));
    expect(JSON.stringify(cancelled)).not.toContain("handler");
  });

  test("a question that is answered but not awaited fails the call", async () => {
    const { server, reported } = forgetful();
    const peer = await connect(server, { revision, capabilities, answer: () => ({ action: "decline" }) });
    expect((await peer.callTool("after_work")).error?.code).toBe(-32603);
    expect(reported).toMatchObject([{ code: "invalid-definition" }]);
  });

  test.each(["replay", "park"] as const)("a handler may stop waiting for its question (%s)", async (asks) => {
    const server = createServer(info).tool("patient", {
      asks,
      run: (_, ctx) => Promise.race([ctx.confirm("sure", "Sure?").then(String), turn().then(() => "kept")]),
    });
    const peer = await connect(server, { revision, capabilities, answer: () => new Promise(() => {}) });
    expect((await peer.callTool("patient")).result.content).toEqual([{ type: "text", text: "kept" }]);
  });
});

test.each(revisions)("on %s a question that cannot be asked and is not awaited fails the call", async (revision) => {
  const { server, reported } = forgetful();
  const peer = await connect(server, { revision });
  expect((await peer.callTool("sample")).error?.code).toBe(-32603);
  expect(reported).toMatchObject([{ code: "invalid-definition" }]);
});

test.each(revisions)("on %s questions in Promise.all, allSettled, then and catch are awaited", async (revision) => {
  const server = createServer(info).tool("t", {
    async run(_, ctx) {
      const settled = await Promise.allSettled([ctx.sample("a", { messages: [], maxTokens: 5 }), ctx.roots("b")]);
      const caught = await ctx.roots("c").catch(() => "caught");
      return `${settled.map(({ status }) => status)} ${caught}`;
    },
  });
  const peer = await connect(server, { revision });
  expect((await peer.callTool("t")).result.content[0].text).toBe("rejected,rejected caught");
});
