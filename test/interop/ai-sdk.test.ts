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
  ...because("it hears no notifications", "progress", "list changes", "resources: watch", "resources: publish"),
  ...because("it cannot set a log level, and hears no notifications", "log level"),
  ...because("it never pings", "ping"),
  ...because(
    "of all questions it answers forms only",
    "elicitation: a page to visit",
    "sampling",
    "sampling: with tools",
    "roots",
    "questions: several at once",
  ),
  ...because("its handlers are not told that a question is taken back", "questions: taken back with their call"),
  ...because("it resumes no stream", ...resumptionFeatures.map(({ name }) => name)),
};
const completions = ["prompts: completion", "resources: completion", "resources: completion in context"];
const unannounced = because("it completes only where that is announced, which came with 2025-03-26", ...completions);
const untold = because("it forgets a call that is given up, and tells nobody", "cancellation");

/** What it reports although nothing is wrong: every notification, and what an answer of ours throws. */
const errors = ["Unsupported message type", "the dialog is broken"];
const httpErrors = [
  ...errors,
  // It asks for the stream of the session before there is one, and again while its first request is under way.
  "MCP HTTP Transport Error: GET SSE failed: 400 Bad Request",
  "MCP HTTP Transport Error: GET SSE failed: 409 Conflict",
  // It expects a message in every event.
  "MCP HTTP Transport Error: Failed to parse message",
];

const own: NonNullable<Column["own"]> = {
  async "the server knows its client"(peer, { version }) {
    const told = JSON.parse(textOf(await peer.callTool("whoami")));
    expect(told).toEqual({ name: peer.name, protocolVersion: version, capabilities: ["elicitation"] });
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
  async "nothing but messages"(peer, { transport }) {
    await peer.callTool("noise");
    expect(textOf(await peer.callTool("text", { text: "after the noise" }))).toBe("after the noise");
    const harmless = transport === "stdio" ? errors : httpErrors;
    expect(peer.errors.filter((error) => !harmless.includes(error))).toEqual([]);
  },
  async pagination(peer, { open }) {
    const paged = await open({ env: { INTEROP_PAGE_SIZE: "2" } });
    // It has no way to ask for a second page of templates.
    for (const list of ["listTools", "listResources", "listPrompts"] as const) {
      const whole = await peer[list]();
      const parts = await paged[list]();
      expect(parts.pages).toBe(Math.ceil(whole.all.length / 2));
      expect(parts.all).toEqual(whole.all);
    }
    await expect(paged.listToolsFrom("no cursor of ours")).rejects.toMatchObject({ code: -32602 });
    await paged.close();
  },
  async "close ends the server"(_, { open }) {
    const brief = await open();
    expect(textOf(await brief.callTool("text", { text: "hello" }))).toBe("hello");
    await brief.close();
    // It ends its servers by a signal.
    expect(await brief.exit).toEqual({ code: 0, signal: null, wasKilled: true });
  },
};

const told = (version: string): ColumnOptions => ({
  version,
  lacks: { ...lacks, ...untold, ...(version === oldest && unannounced) },
  own,
});
const found = { version: stateless, mode: "auto", own } as const;

runColumns("The client of the AI SDK", [
  ...stateful.map((version) => createColumn("AI SDK", connect, told(version))),
  createColumn("AI SDK", connect, { ...found, lacks: { ...lacks, ...untold } }),
  ...stateful.map((version) => createHttpColumn("AI SDK", connect, told(version))),
  createHttpColumn("AI SDK", connect, { ...told(newestHandshake), httpSse: true }),
  createHttpColumn("AI SDK", connect, { ...found, lacks }),
]);
