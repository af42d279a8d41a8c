import { RpcError } from "portolan";
import { expect } from "vitest";
import { type Check, outcomeOf, textOf } from "./feature.ts";
import { because, type Gaps, noEvents, noPages, noSessions, oneShot } from "./gaps.ts";
import { type FixtureOptions, fixtureOverHttp } from "./http-columns.ts";
import { runColumns } from "./run-columns.ts";

const always = {
  ...noPages,
  ...noEvents,
  ...because("it has no completion", "completion: of a prompt", "completion: of a template", "completion: in context"),
  ...because("it has no logging", "log", "log: level"),
  ...because("it cannot ask for roots", "roots", "roots: changed"),
  ...because("it does not tell its handlers that a call was cancelled", "cancellation", "timeouts"),
  ...because("it does not withdraw questions", "questions: withdrawn with their call"),
  ...because(
    "it has no resource subscriptions",
    "resources: watch",
    "resources: no duplicate changes",
    "resources: two watches of one URI",
    "resources: no changes after a watch ended",
  ),
};
const anySession = because("it accepts every session id", "session: lost by the server");

const older = { version: "2025-03-26" };

const partly: { readonly [feature: string]: Check } = {
  async negotiation({ client }, { server, version, era }) {
    expect(client.server).toMatchObject({ version, era, info: { name: server, version: "1.2.3" } });
    expect(Object.keys(client.server.capabilities).sort()).toEqual(["prompts", "resources", "tools"]);
  },
  async "elicitation: form"(peer) {
    const before = peer.asked.length;
    expect(textOf(await peer.client.callTool("ask"))).toBe("Hello Ada, size m");
    // It drops the title of the name field.
    const properties = { name: { type: "string" }, size: { enum: ["s", "m", "l"] } };
    const params = { message: "Who are you?", requestedSchema: { properties } };
    expect(peer.asked.slice(before)).toMatchObject([{ kind: "elicit", params }]);
  },
  // Its errors do not name the argument.
  async "tools: errors for the model"({ client }) {
    expect(await client.callTool("fail")).toMatchObject({ isError: true, content: [{ text: "Out of ink" }] });
    expect(await outcomeOf(client.callTool("echo", { text: 7 }))).toMatchObject({ hasFailed: true });
  },
  async "tools: unknown"({ client }) {
    await expect(client.callTool("nonesuch")).rejects.toMatchObject({ code: -32601 });
  },
  async "resources: unknown"({ client }) {
    await expect(client.readResource("nowhere://at/all")).rejects.toMatchObject({ code: -32601 });
  },
  async "prompts: refused"({ client }) {
    await expect(client.getPrompt("greet", { tone: "formal" })).rejects.toThrow(RpcError);
    await expect(client.getPrompt("nonesuch")).rejects.toMatchObject({ code: -32602 });
  },
};

const mcpLite = (title: string, habit: string, lacks: Gaps, more: Partial<FixtureOptions> = {}) =>
  fixtureOverHttp({
    title: `mcp-lite ${title}`,
    fixture: "mcp-lite",
    habit,
    lacks: { ...always, ...lacks },
    partly,
    ...more,
  });

runColumns("mcp-lite servers over HTTP", [
  mcpLite("2025-06-18", "sessions", anySession, { version: "2025-06-18", era: "2025-06-18" }),
  mcpLite("auto", "sessions", anySession, older),
  mcpLite("sessionless", "sessionless", { ...oneShot, ...noSessions }, older),
]);
