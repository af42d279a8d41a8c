import { expect } from "vitest";
import type { Data, PeerClient } from "../../peers/clients/peer.d.mts";
import { defaultAnswers, type Feature, journalOf, textOf } from "../feature.ts";

const forms = "2025-06-18";
const urls = "2025-11-25";

/** Expects that a call without the capability is refused, and that the connection stays usable. */
const refuses = (tool: string, args?: object) => async (peer: PeerClient) => {
  await expect(peer.callTool(tool, args)).rejects.toMatchObject({ code: -32602 });
  expect(textOf(await peer.callTool("text", { text: "still there" }))).toBe("still there");
};

/** Replaces some answers during one check. */
async function withAnswers(peer: PeerClient, answers: object, check: () => Promise<void>): Promise<void> {
  Object.assign(peer.answers, answers);
  try {
    await check();
  } finally {
    Object.assign(peer.answers, defaultAnswers());
  }
}

export const questionFeatures: Feature[] = [
  {
    name: "elicitation: form",
    since: forms,
    async check(peer) {
      peer.asked.length = 0;
      expect(textOf(await peer.callTool("ask-form"))).toBe("Hello Ada, size m");
      expect(peer.asked).toHaveLength(1);
      expect(peer.asked[0]).toMatchObject({
        method: "elicitation/create",
        params: {
          message: "Who are you?",
          requestedSchema: {
            properties: { name: { type: "string", title: "Name" }, size: { enum: ["s", "m", "l"] } },
            required: ["name"],
          },
        },
      });
    },
    without: refuses("ask-form"),
  },
  {
    name: "elicitation: declined",
    since: forms,
    async check(peer) {
      for (const action of ["decline", "cancel"]) {
        await withAnswers(peer, { elicit: () => ({ action }) }, async () => {
          expect(textOf(await peer.callTool("ask-form"))).toBe(`no name: ${action}`);
          expect(textOf(await peer.callTool("ask-confirm"))).toBe("refused");
        });
      }
      expect(textOf(await peer.callTool("ask-confirm"))).toBe("confirmed");
    },
    without: refuses("ask-confirm"),
  },
  {
    name: "elicitation: URL",
    since: urls,
    async check(peer, { version }) {
      peer.asked.length = 0;
      expect(textOf(await peer.callTool("ask-url", { label: "drive" }))).toBe("visit: accept");
      const { params } = peer.asked[0]!;
      expect(params).toMatchObject({ mode: "url", url: "https://example.com/consent?for=drive" });
      if (version > urls) return;
      await peer.hears(
        "notifications/elicitation/complete",
        ({ elicitationId }) => elicitationId === params.elicitationId,
      );
    },
    without: refuses("ask-url", { label: "drive" }),
  },
  {
    name: "sampling",
    async check(peer) {
      peer.asked.length = 0;
      expect(textOf(await peer.callTool("sample", { text: "a story" }))).toBe("tiny-1: <Summarize: a story>");
      expect(peer.asked).toMatchObject([
        { params: { systemPrompt: "Be brief", maxTokens: 50, modelPreferences: { hints: [{ name: "small" }] } } },
      ]);
    },
  },
  {
    name: "sampling: with tools",
    since: urls,
    async check(peer) {
      const use = { type: "tool_use", id: "u1", name: "add", input: { a: 2, b: 3 } };
      const sample = ({ messages, tools }: Data) => {
        expect(tools).toMatchObject([{ name: "add" }]);
        const message = { role: "assistant", model: "tiny-1" };
        if (messages.length === 1) return { ...message, content: [use], stopReason: "toolUse" };
        const [result] = [messages[2].content].flat();
        return {
          ...message,
          content: { type: "text", text: `It is ${result.content[0].text}` },
          stopReason: "endTurn",
        };
      };
      await withAnswers(peer, { sample }, async () => {
        expect(textOf(await peer.callTool("sample-with-tools"))).toBe("It is 5");
      });
    },
    without: refuses("sample-with-tools"),
  },
  {
    name: "roots",
    async check(peer) {
      expect(textOf(await peer.callTool("ask-roots"))).toBe("home file:///home/ada\nsrv file:///srv");
      expect(textOf(await peer.callTool("needs-roots"))).toBe("has roots");
    },
  },
  {
    name: "questions: several at once",
    since: forms,
    async check(peer) {
      peer.asked.length = 0;
      expect(textOf(await peer.callTool("ask-together"))).toBe("green / <A poem> / 2");
      const methods = peer.asked.map(({ method }) => method).sort();
      expect(methods).toEqual(["elicitation/create", "roots/list", "sampling/createMessage"]);
    },
    without: refuses("ask-together"),
  },
  {
    name: "questions: one after the other",
    since: forms,
    async check(peer) {
      expect(textOf(await peer.callTool("ask-twice", { label: "twice" }))).toBe("Ada likes green (2)");
      expect(await journalOf(peer, "twice")).toEqual(["effect 1 twice", "effect 2 twice"]);
    },
  },
  {
    name: "questions: explicit",
    since: forms,
    async check(peer) {
      expect(textOf(await peer.callTool("ask-explicitly"))).toBe("1: green");
    },
    without: refuses("ask-explicitly"),
  },
  {
    name: "questions: parked",
    since: forms,
    async check(peer) {
      expect(textOf(await peer.callTool("ask-parked", { label: "once" }))).toBe("parked green");
      expect(await journalOf(peer, "parked once")).toEqual(["parked once"]);
    },
  },
  {
    name: "questions: in a prompt",
    since: forms,
    async check(peer) {
      expect(await peer.getPrompt("asks")).toMatchObject({ messages: [{ content: { text: "Paint it green" } }] });
    },
  },
  {
    name: "questions: in a resource",
    since: forms,
    async check(peer) {
      expect((await peer.readResource("asks://name")).contents).toMatchObject([{ text: "painted green" }]);
    },
  },
  {
    name: "questions: answered with an error",
    since: forms,
    async check(peer) {
      const elicit = () => {
        throw new Error("the dialog is broken");
      };
      await withAnswers(peer, { elicit }, async () => {
        const outcome = await peer.callTool("ask-form").catch((error: unknown) => ({ error }));
        expect("error" in outcome || outcome.isError).toBe(true);
      });
      expect(textOf(await peer.callTool("ask-form"))).toBe("Hello Ada, size m");
    },
  },
  {
    name: "questions: withdrawn with their call",
    since: forms,
    async check(peer) {
      const controller = new AbortController();
      let withdrawn: Promise<unknown> = Promise.resolve();
      const elicit = (_: Data, signal: AbortSignal) => {
        withdrawn = new Promise((resolve) => signal.addEventListener("abort", resolve));
        controller.abort(new Error("enough"));
        return withdrawn.then(() => ({ action: "cancel" }));
      };
      await withAnswers(peer, { elicit }, async () => {
        await expect(peer.callTool("ask-form", {}, { signal: controller.signal })).rejects.toThrow("enough");
        await withdrawn;
      });
      expect(textOf(await peer.callTool("ask-form"))).toBe("Hello Ada, size m");
    },
  },
  {
    name: "questions: to a client without capabilities",
    async check(_, { open, version }) {
      const plain = await open({ declares: {} });
      const code = version < "2026-07-28" ? -32602 : -32021;
      for (const tool of ["ask-confirm", "ask-roots", "needs-roots"]) {
        await expect(plain.callTool(tool)).rejects.toMatchObject({ code });
      }
      await expect(plain.callTool("sample", { text: "" })).rejects.toMatchObject({ code });
      await plain.close();
    },
  },
];
