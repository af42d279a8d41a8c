import type { Answers } from "portolan/client";
import { expect } from "vitest";
import type { Data } from "../../../peers/clients/peer.d.mts";
import { outcomeOf, type ServerFeature, textOf } from "../feature.ts";
import { defaultAnswers, folders, type Host, type Peer } from "../peer.ts";

const forms = "2025-06-18";
const urls = "2025-11-25";

/** Expects that the server does not ask, because its version lacks the capability. */
const isNotAsked = (tool: string, kind: keyof Answers) => async (peer: Peer) => {
  const { client } = peer;
  expect(await outcomeOf(client.callTool(tool))).toMatchObject({ hasFailed: true });
  expect(askedBy(peer, kind)).toEqual([]);
  expect(textOf(await client.callTool("echo", { text: "still there" }))).toBe("still there");
};

/** Replaces some answers during one check. */
async function withAnswers(peer: Peer, answers: Partial<Host>, check: () => Promise<void>): Promise<void> {
  Object.assign(peer.host, answers);
  try {
    await check();
  } finally {
    Object.assign(peer.host, defaultAnswers());
  }
}

function askedBy({ asked }: Peer, kind: keyof Answers) {
  return asked.filter((question) => question.kind === kind);
}

export const questionFeatures: ServerFeature[] = [
  {
    name: "elicitation: form",
    since: forms,
    async check(peer, { version, era }) {
      const before = askedBy(peer, "elicit").length;
      // The answer has no size: the client fills in its default.
      expect(textOf(await peer.client.callTool("ask"))).toBe("Hello Ada, size m");
      const [question, ...others] = askedBy(peer, "elicit").slice(before);
      expect(others).toEqual([]);
      expect(question?.params).toMatchObject({
        message: "Who are you?",
        requestedSchema: { properties: { name: { type: "string", title: "Name" }, size: { enum: ["s", "m", "l"] } } },
      });
      expect(question?.context).toMatchObject({
        server: { version, era },
        during: { method: "tools/call", name: "ask" },
      });
    },
    without: isNotAsked("ask", "elicit"),
  },
  {
    name: "elicitation: declined",
    since: forms,
    async check(peer) {
      for (const action of ["decline", "cancel"] as const) {
        await withAnswers(peer, { elicit: () => ({ action }) }, async () => {
          expect(textOf(await peer.client.callTool("ask"))).toBe(`no name: ${action}`);
        });
      }
    },
  },
  {
    name: "elicitation: URL",
    since: urls,
    async check(peer) {
      expect(textOf(await peer.client.callTool("visit"))).toBe("visit: accept");
      const [question] = askedBy(peer, "openUrl");
      expect(question?.params).toMatchObject({ message: "Please allow it", url: "https://example.com/consent" });
    },
    without: isNotAsked("visit", "openUrl"),
  },
  {
    name: "sampling",
    async check(peer) {
      const before = askedBy(peer, "sample").length;
      const { client } = peer;
      expect(textOf(await client.callTool("sample", { text: "a story" }))).toBe("tiny-1: <Summarize: a story>");
      const questions = askedBy(peer, "sample").slice(before);
      expect(questions).toMatchObject([{ params: { systemPrompt: "Be brief", maxTokens: 50 } }]);
    },
  },
  {
    name: "roots",
    async check({ client }) {
      expect(textOf(await client.callTool("roots"))).toBe("ada file:///nowhere/ada\nalan file:///nowhere/alan");
    },
  },
  {
    name: "roots: changed",
    async check(peer) {
      const before = askedBy(peer, "roots").length;
      await withAnswers(peer, { roots: () => folders.slice(1) }, async () => {
        peer.client.rootsChanged();
        await peer.until(() => askedBy(peer, "roots").length > before);
        expect(textOf(await peer.client.callTool("roots"))).toBe("alan file:///nowhere/alan");
      });
    },
  },
  {
    name: "questions: several at once",
    since: forms,
    async check({ client }) {
      expect(textOf(await client.callTool("ask-together"))).toBe("Ada / <Summarize: both>");
    },
  },
  {
    name: "questions: one after the other",
    since: forms,
    async check(peer) {
      let asked = 0;
      const elicit = () => {
        asked += 1;
        return { action: "accept" as const, content: asked === 1 ? { name: "Ada" } : { name: "Alan", size: "l" } };
      };
      await withAnswers(peer, { elicit }, async () => {
        expect(textOf(await peer.client.callTool("ask-twice"))).toBe("first Ada, second l");
      });
    },
  },
  {
    name: "questions: answered for one call",
    since: forms,
    async check(peer) {
      const before = askedBy(peer, "elicit").length;
      const answers: Answers = { elicit: () => ({ action: "accept", content: { name: "Grace", size: "s" } }) };
      expect(textOf(await peer.client.callTool("ask", {}, { answers }))).toBe("Hello Grace, size s");
      expect(askedBy(peer, "elicit")).toHaveLength(before);
    },
  },
  {
    name: "questions: handed to the caller",
    since: "2026-07-28",
    async check(peer) {
      const { client } = peer;
      const before = peer.asked.length;
      const round: Data = await client.callTool("ask", {}, { autoAnswer: false });
      const [[key, request]] = Object.entries(round.inputRequests) as Data;
      expect(request).toMatchObject({ method: "elicitation/create", params: { message: "Who are you?" } });
      const answer = { action: "accept" as const, content: { name: "Grace", size: "l" } };
      const options = { inputResponses: { [key]: answer }, requestState: round.requestState };
      expect(textOf(await client.callTool("ask", {}, options))).toBe("Hello Grace, size l");
      expect(peer.asked).toHaveLength(before);
    },
  },
  {
    name: "questions: invalid answer",
    since: forms,
    async check(peer) {
      const invalid = { action: "accept" as const, content: { name: "Ada", size: "enormous" } };
      await withAnswers(peer, { elicit: () => invalid }, async () => {
        expect(await outcomeOf(peer.client.callTool("ask"))).toMatchObject({ hasFailed: true });
      });
      peer.errors.length = 0;
      expect(textOf(await peer.client.callTool("ask"))).toBe("Hello Ada, size m");
    },
  },
  {
    name: "questions: answered with an error",
    since: forms,
    async check(peer) {
      const elicit = () => {
        throw new Error("the dialog is broken, and the password is hunter2");
      };
      await withAnswers(peer, { elicit }, async () => {
        const { hasFailed, text } = await outcomeOf(peer.client.callTool("ask"));
        expect(hasFailed).toBe(true);
        // A stateless call fails in the client and may contain the reason; messages to the server may not.
        if (peer.client.server.era === "stateful") expect(text).not.toContain("hunter2");
      });
      peer.errors.length = 0;
      expect(textOf(await peer.client.callTool("ask"))).toBe("Hello Ada, size m");
    },
  },
  {
    name: "questions: withdrawn with their call",
    since: forms,
    async check(_, { open }) {
      // Some servers block until their question is answered, so this check has its own connection.
      const peer = await open();
      const controller = new AbortController();
      let withdrawn: Promise<unknown> = Promise.resolve();
      peer.host.elicit = (_params, { signal }) => {
        withdrawn = new Promise((resolve) => signal.addEventListener("abort", resolve));
        controller.abort(new Error("enough"));
        return withdrawn.then(() => ({ action: "cancel" as const }));
      };
      const call = peer.client.callTool("ask", {}, { signal: controller.signal });
      await expect(call).rejects.toMatchObject({ name: "AbortError", cause: { message: "enough" } });
      await withdrawn;
      peer.host.elicit = defaultAnswers().elicit;
      expect(textOf(await peer.client.callTool("ask"))).toBe("Hello Ada, size m");
      await peer.client.close();
    },
  },
  {
    name: "questions: to a client without answers",
    async check(_, { open, version }) {
      const { client } = await open({ answers: {} });
      for (const tool of version >= forms ? ["ask", "sample"] : ["sample"]) {
        expect(await outcomeOf(client.callTool(tool, { text: "" }))).toMatchObject({ hasFailed: true });
      }
      expect(textOf(await client.callTool("echo", { text: "still there" }))).toBe("still there");
      await client.close();
    },
  },
];
