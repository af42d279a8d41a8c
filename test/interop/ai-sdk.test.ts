import { expect } from "vitest";
import { connect } from "../peers/clients/ai-sdk.mjs";
import { because } from "./client/gaps.ts";
import { type Column, type ColumnOptions, createColumn, textOf, untilJournal } from "./feature.ts";
import { resumptionFeatures } from "./features/resumption.ts";
import { createHttpColumn } from "./http-columns.ts";
import { runColumns } from "./run-columns.ts";

const stateful = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const oldest = "2024-11-05";
const newestHandshake = "2025-11-25";
const stateless = "2026-07-28";

const lacks = {
  ...because("it ignores notifications", "progress", "list changes", "resources: watch", "resources: publish"),
  ...because("it cannot set a log level, and ignores notifications", "log level"),
  ...because("it never pings", "ping"),
  ...because(
    "it answers forms only, no other questions",
    "elicitation: URL",
    "sampling",
    "sampling: with tools",
    "roots",
    "questions: several at once",
  ),
  ...because("it does not tell its handlers that a question is withdrawn", "questions: withdrawn with their call"),
  ...because("it does not resume streams", ...resumptionFeatures.map(({ name }) => name)),
};
const completions = ["prompts: completion", "resources: completion", "resources: completion in context"];
const undeclared = because(
  "it completes only if the capability is declared, which exists since 2025-03-26",
  ...completions,
);
const noCancellation = because("it sends no cancellation for an aborted call", "cancellation");

/** Errors that it reports although nothing is wrong: every notification, and an exception of our answerer. */
const errors = ["Unsupported message type", "the dialog is broken"];
const httpErrors = [
  ...errors,
  // It requests the session's stream before there is a session, and again while its first request runs.
  "MCP HTTP Transport Error: GET SSE failed: 400 Bad Request",
  "MCP HTTP Transport Error: GET SSE failed: 409 Conflict",
  // It expects a message in every event, but an event may be empty.
  "MCP HTTP Transport Error: Failed to parse message",
];

const own: NonNullable<Column["own"]> = {
  async "client info"(peer, { version }) {
    const client = JSON.parse(textOf(await peer.callTool("whoami")));
    expect(client).toEqual({ name: peer.name, protocolVersion: version, capabilities: ["elicitation"] });
  },
  async cancellation(peer) {
    const controller = new AbortController();
    const cancelled = peer.callTool("slow", { label: "cancel-me" }, { signal: controller.signal });
    const ended = expect(cancelled).rejects.toMatchObject({ cause: { message: "enough" } });
    await untilJournal(peer, "cancel-me", ["started cancel-me"]);
    controller.abort(new Error("enough"));
    await ended;
    await untilJournal(peer, "cancel-me", ["started cancel-me", "aborted cancel-me"]);
  },
  async "only messages on the wire"(peer, { transport }) {
    await peer.callTool("noise");
    expect(textOf(await peer.callTool("text", { text: "after the noise" }))).toBe("after the noise");
    const harmless = transport === "stdio" ? errors : httpErrors;
    expect(peer.errors.filter((error) => !harmless.includes(error))).toEqual([]);
  },
  async pagination(peer, { open }) {
    const paged = await open({ env: { INTEROP_PAGE_SIZE: "2" } });
    // It cannot request a second page of templates.
    for (const list of ["listTools", "listResources", "listPrompts"] as const) {
      const whole = await peer[list]();
      const parts = await paged[list]();
      expect(parts.pages).toBe(Math.ceil(whole.all.length / 2));
      expect(parts.all).toEqual(whole.all);
    }
    await expect(paged.listToolsFrom("no cursor of ours")).rejects.toMatchObject({ code: -32602 });
    await paged.close();
  },
  async "closing ends the server"(_, { open }) {
    const brief = await open();
    expect(textOf(await brief.callTool("text", { text: "hello" }))).toBe("hello");
    await brief.close();
    // It ends its servers with a signal.
    expect(await brief.exit).toEqual({ code: 0, signal: null, wasKilled: true });
  },
};

const offering = (version: string): ColumnOptions => ({
  version,
  lacks: { ...lacks, ...noCancellation, ...(version === oldest && undeclared) },
  own,
});
const detecting = { version: stateless, mode: "auto", own } as const;

runColumns("The client of the AI SDK", [
  ...stateful.map((version) => createColumn("AI SDK", connect, offering(version))),
  createColumn("AI SDK", connect, { ...detecting, lacks: { ...lacks, ...noCancellation } }),
  ...stateful.map((version) => createHttpColumn("AI SDK", connect, offering(version))),
  createHttpColumn("AI SDK", connect, { ...offering(newestHandshake), httpSse: true }),
  createHttpColumn("AI SDK", connect, { ...detecting, lacks }),
]);
