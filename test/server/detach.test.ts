import type { JsonObject } from "portolan";
import { createServer, type DetachOptions, type ExtendedServer, form, type ServerExtension } from "portolan/server";
import { createMemoryStorage } from "portolan/storage";
import { connectInMemory } from "portolan/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { pathTo } from "../examples/example.ts";

const id = "com.example/detached";
const name = form({ type: "object", properties: { name: { type: "string" } }, required: ["name"] });
const eras = ["2025-11-25", "2026-07-28"] as const;

/** Calls a tool in the background, and keeps what became of it. */
function background(options: DetachOptions = {}) {
  const ends: unknown[] = [];
  const seen: { server?: ExtendedServer; cancel?: (reason: Error) => void } = {};
  const extension: ServerExtension = {
    id,
    on: (_, server) => {
      seen.server = server;
      return {
        isOpen: true,
        requests: {
          [`${id}/call`]: {
            isOpen: true,
            handle(exchange) {
              // As it comes out of a storage.
              const { params, peer, principal } = exchange;
              const { capabilities, info, revision } = peer;
              const _meta = { ...Object(params["_meta"]), progressToken: "p" };
              const stored = {
                id: 1,
                params: { ...params, _meta },
                principal,
                peer: { capabilities, info, revision: { version: revision.version } },
              };
              const request = {
                ...JSON.parse(JSON.stringify(stored)),
                method: exchange.params["method"] ?? "tools/call",
              };
              const { outcome, cancel } = server.detach(request, options);
              seen.cancel = cancel;
              outcome.then(
                (ended) => ends.push(ended),
                (error) => ends.push({ code: error.code, message: error.message }),
              );
              return {};
            },
          },
        },
      };
    },
  };
  return { extension, ends, seen };
}

async function serve(era: (typeof eras)[number], extension: ServerExtension, around: string[] = []) {
  const server = createServer({ name: "detached", version: "1.2.3" }, { onError() {} })
    .extend(extension)
    .use((exchange, next) => {
      around.push(exchange.method);
      return next(exchange);
    })
    .tool("shout", {
      input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      async run({ text }: { text: string }, ctx) {
        ctx.status("shouting");
        await ctx.progress(1, 2);
        return text.toUpperCase();
      },
    })
    .tool("wait", {
      run: (_, { signal }) =>
        new Promise<string>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    })
    .tool("greet", {
      async run(_, ctx) {
        const answer = await ctx.elicit("name", { message: "Which name?", form: name });
        return `Ahoy ${answer.action === "accept" ? answer.content["name"] : "stranger"}`;
      },
    });
  const client = await connectInMemory(server, { revision: era, answers: { elicit: () => ({ action: "decline" }) } });
  onTestFinished(() => client.close());
  return client;
}

test.each(eras)("a detached call outlives its request, inside the middleware of the server (%s)", async (era) => {
  const said: string[] = [];
  const notified: string[] = [];
  const { extension, ends, seen } = background({
    status: (message) => said.push(message),
    notify: (method) => notified.push(method),
  });
  const around: string[] = [];
  const client = await serve(era, extension, around);
  await client.request(`${id}/call`, { name: "shout", arguments: { text: "ahoy" } });
  await vi.waitUntil(() => ends.length === 1);
  expect(ends[0]).toMatchObject({ kind: "complete", result: { content: [{ type: "text", text: "AHOY" }] } });
  expect(said).toEqual(["shouting"]);
  expect(notified).toEqual(["notifications/progress"]);
  expect(around).toContain("tools/call");
  expect(seen.server?.info).toMatchObject({ name: "detached", version: "1.2.3" });
});

test.each(eras)("a detached call that asks ends with its questions, and goes on with the answers (%s)", async (era) => {
  const { extension, ends } = background();
  const client = await serve(era, extension);
  await client.request(`${id}/call`, { name: "greet" });
  await vi.waitUntil(() => ends.length === 1);
  const { kind, requests, state } = ends[0] as { kind: string; requests: JsonObject; state: string };
  expect([kind, Object.keys(requests)]).toEqual(["input_required", ["name"]]);
  const inputResponses = { name: { action: "accept", content: { name: "Ada" } } };
  await client.request(`${id}/call`, { name: "greet", requestState: state, inputResponses });
  await vi.waitUntil(() => ends.length === 2);
  expect(ends[1]).toMatchObject({ result: { content: [{ text: "Ahoy Ada" }] } });
});

test.each(eras)("a detached call asks a function, if it has one (%s)", async (era) => {
  const ask = async () => ({ action: "accept", content: { name: "Grace" } });
  const { extension, ends } = background({ ask });
  const client = await serve(era, extension);
  await client.request(`${id}/call`, { name: "greet" });
  await vi.waitUntil(() => ends.length === 1);
  expect(ends[0]).toMatchObject({ result: { content: [{ text: "Ahoy Grace" }] } });
});

test.each(eras)(
  "a detached call is cancelled by its extension, and fails as it would for a client (%s)",
  async (era) => {
    const { extension, ends, seen } = background();
    const client = await serve(era, extension);
    await client.request(`${id}/call`, { name: "wait" });
    seen.cancel?.(new Error("no longer needed"));
    await vi.waitUntil(() => ends.length === 1);
    await client.request(`${id}/call`, { name: "none" });
    await client.request(`${id}/call`, { method: "prompts/get", name: "none" });
    await client.request(`${id}/call`, { name: 1 });
    await vi.waitUntil(() => ends.length === 4);
    expect(ends.slice(1)).toMatchObject([{ code: -32_602 }, { code: -32_601 }, { code: -32_602 }]);
  },
);

test("the example finishes calls whose process has died, for their caller alone", async () => {
  const { later } = await import(pathTo("examples/extension/later.mjs"));
  const storage = createMemoryStorage();
  let runs = 0;
  let finish = (_: string) => {};
  const open = async () => {
    const server = createServer({ name: "slow", version: "1.0.0" })
      .extend(later({ storage }))
      .tool("slow", {
        run: () => {
          runs += 1;
          return new Promise<string>((resolve) => {
            finish = resolve;
          });
        },
      });
    const known = { id: "com.example/later", on: () => ({}) };
    const client = await connectInMemory(server, { extensions: [known] });
    onTestFinished(() => client.close());
    return client;
  };
  const first = await open();
  const { ticket } = await first.request("com.example/later/call", { name: "slow" });
  expect(await first.request("com.example/later/read", { ticket })).toMatchObject({ isRunning: true });
  // The second server knows the call from the storage alone.
  const second = await open();
  expect(await second.request("com.example/later/read", { ticket })).toMatchObject({ isRunning: true });
  await vi.waitUntil(() => runs === 2);
  finish("done");
  await vi.waitUntil(async () => "result" in (await second.request("com.example/later/read", { ticket })));
  expect(await second.request("com.example/later/read", { ticket })).toMatchObject({
    result: { content: [{ text: "done" }] },
  });
  await expect(second.request("com.example/later/read", { ticket: "guessed" })).rejects.toThrow("Unknown ticket");
});
