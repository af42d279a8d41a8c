import { form } from "portolan/server";
import { expect } from "vitest";
import { z } from "zod";
import { connectMemory } from "../../../kit/raw-peer.ts";
import { isStateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { accepting, type Entry, isFrom, jsonOf, textOf } from "../../results.ts";
import { refusedFor, server, toText } from "./kit.ts";

/** Elicitation by form and by URL. */
export const elicitation: readonly Requirement[] = [
  {
    row: "K10",
    says: "accepted content must match the form, or the call fails with the path",
    async test(open, { revision }) {
      let content: Entry = { name: "Ada", age: 36, email: "ada@example.com" };
      const peer = await open({
        server,
        capabilities: { elicitation: {} },
        answer: () => ({ action: "accept", content }),
      });
      const asked = await peer.callTool("person");
      if (!isFrom(revision, "2025-06-18")) return refusedFor(peer, asked, { elicitation: { form: {} } });
      expect(jsonOf(asked)).toEqual({ action: "accept", content });
      const mode = isFrom(revision, "2025-11-25") ? { mode: "form" } : {};
      expect(peer.questions[0]?.params).toEqual({
        ...mode,
        message: "Who?",
        requestedSchema: {
          type: "object",
          properties: {
            name: { type: "string", minLength: 2 },
            age: { type: "integer", minimum: 0 },
            email: { type: "string", format: "email" },
          },
          required: ["name"],
        },
      });
      for (const [wrong, path] of [
        [{ name: "A" }, "name"],
        [{}, "name"],
        [{ name: "Ada", age: 1.5 }, "age"],
        [{ name: "Ada", email: "no" }, "email"],
      ] as const) {
        content = wrong;
        const { error } = await peer.callTool("person");
        expect(error?.code).toBe(-32602);
        expect(error?.message).toContain(`answer "person": ${path}: `);
      }
      for (const wrong of ["text", 5, ["x"]]) {
        content = wrong;
        expect((await peer.callTool("person")).error?.code).toBe(-32602);
      }
    },
  },
  {
    row: "K11",
    says: "the complete URL is sent, accept is consent, and completion is notified where the revision has it",
    async test(open, { revision }) {
      const url = "https://example.com/login?state=1#top";
      const peer = await open({
        server,
        capabilities: { elicitation: { url: {} } },
        answer: () => ({ action: "accept" }),
      });
      const asked = peer.callTool("visit", { url, gated: true });
      if (!isFrom(revision, "2025-11-25")) return refusedFor(peer, await asked, { elicitation: { url: {} } });
      const page = await peer.until(({ questions }) => questions[0]);
      const id = isStateless(revision) ? {} : { elicitationId: expect.stringMatching(/^[0-9a-f-]{36}$/) };
      expect(page.params).toEqual({ mode: "url", message: "Log in", url, ...id });
      await peer.settled();
      expect(peer.notifications).toEqual([]);
      await peer.callTool("open_gate", { name: "ready" });
      expect(textOf(await asked)).toBe("accept");
      expect(jsonOf(await peer.callTool("events"))).toEqual(["ready", "accept"]);
      const completed = peer.notifications.filter(({ method }) => method === "notifications/elicitation/complete");
      expect(completed.map(({ params }) => params)).toEqual(
        isStateless(revision) ? [] : [{ elicitationId: page.params?.["elicitationId"] }],
      );
      const { result } = await peer.callTool("visit", { url: "javascript:alert(1)" });
      expect(result.isError).toBe(true);
      expect(peer.questions).toHaveLength(1);
    },
  },
  {
    row: "K12",
    says: "accept, decline and cancel reach the handler as actions",
    async test(open) {
      let answer: Entry = {};
      const peer = await open({ server, capabilities: { elicitation: {} }, answer: () => answer });
      for (answer of [
        { action: "decline" },
        { action: "cancel" },
        { action: "decline", content: { name: "ignored" } },
      ]) {
        expect(jsonOf(await peer.callTool("person"))).toEqual({ action: answer.action });
        expect(textOf(await peer.callTool("confirm"))).toBe("false");
        const { result } = await peer.callTool("cancelled");
        expect(result).toMatchObject({ isError: true, content: [toText("Cancelled by the user.")] });
      }
      answer = { action: "accept" };
      expect(textOf(await peer.callTool("confirm"))).toBe("true");
      answer = { action: "maybe" };
      expect((await peer.callTool("confirm")).error).toMatchObject({ code: -32602 });
      expect((await peer.callTool("confirm")).error?.message).toContain('answer "sure".action');
    },
  },
  {
    row: "K13",
    says: "form and URL elicitation need their own capability, and a handler may continue without",
    async test(open, { revision }) {
      const url = "https://example.com";
      const cases: [capabilities: object, refused: string, required: object][] = [
        [{}, "confirm", { elicitation: { form: {} } }],
        [{}, "visit", { elicitation: { url: {} } }],
        [{ elicitation: {} }, "visit", { elicitation: { url: {} } }],
        [{ elicitation: { form: {} } }, "visit", { elicitation: { url: {} } }],
      ];
      if (isFrom(revision, "2025-11-25"))
        cases.push([{ elicitation: { url: {} } }, "confirm", { elicitation: { form: {} } }]);
      for (const [capabilities, name, required] of cases) {
        const peer = await connectMemory((await import(server.href)).default(), {
          revision,
          capabilities: { ...capabilities },
          answer: accepting(),
        });
        refusedFor(peer, await peer.callTool(name, { url }), required);
        await peer.close();
      }
      const peer = await open({ server, answer: accepting() });
      refusedFor(peer, await peer.callTool("confirm"), { elicitation: { form: {} } });
      expect(textOf(await peer.callTool("fallback"))).toBe("without asking: -32021");
    },
  },
  {
    row: "XK1",
    says: "a client with an empty capability gets forms and no URL elicitation",
    async test(open, { revision }) {
      const peer = await open({ server, capabilities: { elicitation: {} }, answer: accepting() });
      expect(textOf(await peer.callTool("confirm"))).toBe("true");
      const params = peer.questions[0]?.params ?? {};
      expect(params["requestedSchema"]).toEqual({ type: "object", properties: {} });
      expect(params["mode"]).toBe(isFrom(revision, "2025-11-25") ? "form" : undefined);
      peer.questions.length = 0;
      refusedFor(peer, await peer.callTool("visit", { url: "https://example.com" }), { elicitation: { url: {} } });
      // An explicit round may omit the mode.
      expect(textOf(await peer.callTool("explicit_steps"))).toBe("step 3");
    },
  },
  {
    row: "XK2",
    says: "the error names the field and the allowed types",
    async test(open) {
      expect(() => form(z.object({ who: z.object({ name: z.string() }) }))).toThrow(
        'form field "who": expected a string, number, boolean or choice; forms are flat, without nested objects',
      );
      expect(() => form(z.object({ list: z.array(z.string()) }))).toThrow(
        'form field "list": expected an array of choices',
      );
      expect(() => form(z.string() as never)).toThrow("expected a schema whose root is");
      const peer = await open({ server, capabilities: { elicitation: {} }, answer: accepting() });
      const schema = { type: "object", properties: { who: { type: "object", properties: {} } } };
      expect((await peer.callTool("elicit", { message: "Who?", schema })).result.isError).toBe(true);
      expect(peer.questions).toEqual([]);
    },
  },
];
