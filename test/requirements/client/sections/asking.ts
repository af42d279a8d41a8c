import type { JsonObject } from "portolan";
import type { Answers } from "portolan/client";
import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { isStateless, type RevisionDate, stateful } from "../../../kit/revisions.ts";
import { isFrom } from "../../results.ts";
import { answerOf, asks, follow, gate, round, turn } from "../kit/calls.ts";
import { channels } from "../kit/transports.ts";
import type { Requirement, Scene } from "../requirement.ts";

const user = (content: unknown = { type: "text", text: "Hi" }): JsonObject => ({ role: "user", content });
const sampling: JsonObject = { messages: [user()], maxTokens: 10 };
const hello = { role: "assistant", model: "m", content: { type: "text", text: "Hello" } } as const;

/** The capabilities that the client declares, in the handshake or in its first request. */
export function declaredIn({ server }: Pick<Scene, "server">): JsonObject {
  const { params } = server.sent[0]!;
  return params.capabilities ?? params._meta[metaKey("clientCapabilities")];
}

/** The code of a refusal: sent to a stateful server, or the rejection of the call with a stateless one. */
export async function refusalOf(
  open: (options: object) => Promise<Scene>,
  revision: RevisionDate,
  [method, params]: readonly [string, JsonObject?],
  options: object,
): Promise<unknown> {
  const { client, server, settled } = await open({ ...options, on: { "tools/call": asks(revision, method, params) } });
  const { error, reason } = await answerOf(client);
  await settled();
  // A round without an answer is not retried.
  expect(server.of("tools/call")).toHaveLength(1);
  return isStateless(revision) ? reason?.code : error?.code;
}

export const asking: Requirement[] = [
  {
    row: "C-K1",
    says: "roots come from a list or a function, and may be empty",
    async test({ open, revision }) {
      const on = { "tools/call": asks(revision, "roots/list") };
      const roots = [{ uri: "file:///a", name: "a" }, { uri: "file:///b%20c" }];
      for (const each of [roots, () => roots, async () => roots]) {
        const scene = await open({ on, answers: { roots: each } });
        expect(await answerOf(scene.client)).toEqual({ roots });
        expect(declaredIn(scene)).toEqual({ roots: isStateless(revision) ? {} : { listChanged: true } });
      }
      const { client, server, settled } = await open({ on, answers: { roots: [] } });
      expect(await answerOf(client)).toEqual({ roots: [] });
      client.rootsChanged();
      await settled();
      expect(server.of("notifications/roots/list_changed")).toHaveLength(isStateless(revision) ? 0 : 1);
    },
  },
  {
    row: "C-K1",
    says: "roots that are not file URIs are not sent",
    async test({ open, revision }) {
      for (const uri of ["https://example.com", "/work", "", "file:x", 5 as never]) {
        const on = { "tools/call": asks(revision, "roots/list") };
        const { client, server } = await open({ on, answers: { roots: [{ uri }] } });
        expect(Object.keys(await answerOf(client))).toEqual([isStateless(revision) ? "reason" : "error"]);
        expect(JSON.stringify(server.sent)).not.toContain('"roots":[');
      }
    },
  },
  {
    row: "C-K2",
    says: "requests for undeclared roots, sampling and elicitation are refused",
    async test({ open, revision }) {
      expect(await refusalOf(open, revision, ["roots/list"], {})).toBe(-32601);
      expect(await refusalOf(open, revision, ["sampling/createMessage", sampling], { answers: { roots: [] } })).toBe(
        -32601,
      );
      const form = { message: "?", requestedSchema: { type: "object", properties: {} } };
      expect(await refusalOf(open, revision, ["elicitation/create", form], {})).toBe(-32601);
    },
  },
  {
    row: "C-K15",
    says: "an answer function gets the server info and the current call",
    async test({ open, revision }) {
      let context: { server?: unknown; during?: unknown } = {};
      const roots: Answers["roots"] = (given) => {
        context = given;
        return [];
      };
      const { client } = await open({ on: { "tools/call": asks(revision, "roots/list") }, answers: { roots } });
      await answerOf(client);
      expect(context.server).toEqual(client.server);
      expect(context.during).toEqual({ method: "tools/call", name: "ask" });
    },
  },
  {
    row: "C-K17",
    says: "100 open requests are allowed, and the next is refused",
    async test({ open, revision }) {
      const answer = gate();
      const roots: Answers["roots"] = async () => {
        await answer.promise;
        return [];
      };
      const questions = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`q${n}`, { method: "roots/list" }]));
      const { client, server } = await open({ answers: { roots }, on: { "tools/call": () => round(questions) } });
      if (isStateless(revision)) {
        await expect(client.callTool("a")).rejects.toMatchObject({ code: "limit-reached" });
        return;
      }
      const open100 = Array.from({ length: 100 }, () => server.ask("roots/list"));
      expect((await server.ask("roots/list")).error?.code).toBe(-32603);
      expect((await server.ask("ping")).result).toEqual({});
      answer.open();
      for (const { result: given } of await Promise.all(open100)) expect(given).toEqual({ roots: [] });
      expect((await server.ask("roots/list")).result).toEqual({ roots: [] });
    },
  },
  {
    row: "C-XK1",
    says: "a cancelled request aborts the signal of its answer and is not answered",
    on: stateful,
    async test({ open }) {
      const asked = gate<AbortSignal>();
      const answer = gate();
      const { client, server, settled } = await open({
        answers: {
          roots: async ({ signal }) => {
            asked.open(signal);
            await answer.promise;
            return [];
          },
        },
      });
      server.send({ jsonrpc: "2.0", id: "q", method: "roots/list" });
      const signal = await asked.promise;
      server.notify("notifications/cancelled", { requestId: "another" });
      await settled();
      expect(signal.aborted).toBe(false);
      server.notify("notifications/cancelled", { requestId: "q", reason: "changed my mind" });
      await settled();
      expect(signal.aborted).toBe(true);
      answer.open();
      await client.callTool("a");
      await settled();
      expect(server.responseTo("q")).toBeUndefined();
    },
  },
  {
    row: "C-XK2",
    says: "a disconnect of the server rejects the call and aborts the answer",
    over: channels,
    async test({ open, revision }) {
      const asked = gate<AbortSignal>();
      const { client, server } = await open({
        on: { "tools/call": asks(revision, "roots/list") },
        answers: {
          roots: (context) => {
            asked.open(context.signal);
            return new Promise(() => {});
          },
        },
      });
      const call = follow(client.callTool("a"));
      const signal = await asked.promise;
      server.end.leave(0);
      await client.closed;
      await turn();
      expect(call.outcome).toBe("connection-closed");
      expect(signal.aborted).toBe(true);
    },
  },
  {
    row: "C-XK2",
    says: "closing the client rejects the call and aborts the answer",
    async test({ open, revision }) {
      const asked = gate<AbortSignal>();
      const { client } = await open({
        on: { "tools/call": asks(revision, "roots/list") },
        answers: {
          roots: (context) => {
            asked.open(context.signal);
            return new Promise(() => {});
          },
        },
      });
      const call = follow(client.callTool("a"));
      const signal = await asked.promise;
      await client.close();
      await turn();
      expect(call.outcome).toBe("connection-closed");
      expect(signal.aborted).toBe(true);
    },
  },
  {
    row: "C-XK3",
    says: "the declared capabilities match the given answers",
    async test({ open, revision }) {
      const modes = isFrom(revision, "2025-11-25");
      expect(declaredIn(await open())).toEqual({});
      expect(declaredIn(await open({ answers: { sample: () => hello } }))).toEqual({ sampling: {} });
      const form = declaredIn(await open({ answers: { elicit: () => ({ action: "decline" }) } }));
      const plain = isFrom(revision, "2025-06-18") ? { elicitation: {} } : {};
      expect(form).toEqual(modes ? { elicitation: { form: {} } } : plain);
      const page = declaredIn(await open({ answers: { openUrl: () => ({ action: "decline" }) } }));
      expect(page).toEqual(modes ? { elicitation: { url: {} } } : {});
    },
  },
  {
    row: "C-XK5",
    says: "answers of one call are declared for that call only",
    async test({ open, revision }) {
      const scene = await open({
        answers: { roots: [{ uri: "file:///usual" }] },
        on: { "tools/call": asks(revision, "roots/list") },
      });
      const { client, server } = scene;
      const own: Answers = { roots: [{ uri: "file:///own" }], sample: () => hello };
      expect(await answerOf(client, { answers: own })).toEqual({ roots: [{ uri: "file:///own" }] });
      expect(await answerOf(client)).toEqual({ roots: [{ uri: "file:///usual" }] });
      if (!isStateless(revision)) return;
      const declared = server.of("tools/call").map(({ params }) => params._meta[metaKey("clientCapabilities")]);
      expect(declared).toEqual([
        { roots: {}, sampling: {} },
        { roots: {}, sampling: {} },
        { roots: {} },
        { roots: {} },
      ]);
    },
  },
];
