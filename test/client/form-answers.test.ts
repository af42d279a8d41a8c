import { createMemoryPair } from "portolan";
import { type Answers, type ConnectOptions, connect } from "portolan/client";
import { createServer, serveChannel } from "portolan/server";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";

const server = createServer({ name: "asking", version: "1" })
  .tool("strict", {
    async run(_, ctx) {
      const form = z.strictObject({ name: z.string(), size: z.enum(["s", "m"]).default("m") });
      return JSON.stringify(await ctx.elicit("who", { message: "Who?", form }));
    },
  })
  .tool("plain", {
    async run(_, ctx) {
      const form = { type: "object", properties: { name: { type: "string" } }, additionalProperties: false };
      return JSON.stringify(await ctx.elicit("who", { message: "Who?", form }));
    },
  })
  .tool("open", {
    async run(_, ctx) {
      const form = { type: "object", properties: { name: { type: "string" } }, additionalProperties: true };
      return JSON.stringify(await ctx.elicit("who", { message: "Who?", form }));
    },
  })
  .tool("told", {
    async run(_, ctx) {
      const form = { type: "object", properties: { age: { type: "integer" } }, required: ["age"] };
      const refusal = (reason: Error) => reason.message;
      return JSON.stringify(await ctx.elicit("who", { message: "Who?", form }).catch(refusal));
    },
  });

async function ask(tool: string, content: object, options: ConnectOptions): Promise<string> {
  const [near, far] = createMemoryPair();
  const serving = serveChannel(server, far);
  onTestFinished(() => serving.close());
  const elicit = () => ({ action: "accept", content }) as Awaited<ReturnType<NonNullable<Answers["elicit"]>>>;
  const client = await connect(near, { ...options, answers: { elicit } });
  onTestFinished(() => client.close());
  const [block] = (await client.callTool(tool)).content;
  return block?.type === "text" ? block.text : "";
}

const eras = ["2025-11-25", "2026-07-28"];

test.each(eras)("a server of %s ignores fields that its form does not have", async (era) => {
  const given = { name: "Ada", email: "ada@example.org" };
  const options = { era, checkForms: false };
  expect(JSON.parse(await ask("strict", given, options))).toEqual({
    action: "accept",
    content: { name: "Ada", size: "m" },
  });
  expect(JSON.parse(await ask("plain", given, options))).toEqual({ action: "accept", content: { name: "Ada" } });
  expect(JSON.parse(await ask("open", given, options))).toEqual({ action: "accept", content: given });
});

test("a stateful server learns that the application's answer did not fit its form, and nothing of the answer", async () => {
  const errors: Error[] = [];
  const said = await ask("told", { age: "three" }, { era: "2025-11-25", onError: (error) => errors.push(error) });
  expect(said).toBe('"The client has no valid answer to elicitation/create"');
  expect(errors.map((error) => "code" in error && error.code)).toEqual(["answer-invalid"]);
});

test("the caller of a stateless server learns it", async () => {
  await expect(ask("strict", { name: 7 }, { era: "2026-07-28" })).rejects.toThrow(
    "The answer does not fit the form: name: expected string, got number 7",
  );
});
