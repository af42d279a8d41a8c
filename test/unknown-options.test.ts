// Public functions refuse options that they do not know: a misspelt option that is ignored looks like one that works.

import { oauth } from "portolan/auth/client";
import { protect } from "portolan/auth/server";
import { connect } from "portolan/client";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { serveStdio } from "portolan/server/stdio";
import { createMemoryStorage } from "portolan/storage";
import { createHost } from "portolan-host";
import { describe, expect, test } from "vitest";

const info = { name: "options", version: "1.0.0" };
const server = createServer(info);
const address = "http://127.0.0.1:1/mcp";
/** As a program in plain JavaScript would pass it. */
const given = (options: object) => options as never;

describe("an unknown option is refused by", () => {
  test.each<[string, () => unknown, string]>([
    ["createServer", () => createServer(info, given({ instruction: "x" })), "did you mean `instructions`?"],
    [".tool", () => server.tool("x", given({ inputSchema: {}, run: () => "x" })), "did you mean `input`?"],
    [".tool", () => server.tool("x", given({ handler: () => "x", run: () => "x" })), "did you mean `run`?"],
    [".tool", () => server.tool("x", given({ descripton: "x", run: () => "x" })), "did you mean `description`?"],
    [".resource", () => server.resource("file:///x", given({ mimetype: "x", read: () => "x" })), "`mimeType`"],
    [".template", () => server.template("file:///{x}", given({ mimetype: "x", read: () => "x" })), "`mimeType`"],
    [".prompt", () => server.prompt("x", given({ argument: {}, get: () => "x" })), "did you mean `arguments`?"],
    ["serveHttp", () => serveHttp(server, given({ paths: "/x" })), "did you mean `path`?"],
    ["serveStdio", () => serveStdio(server, given({ maxMessageByte: 1 })), "did you mean `maxMessageBytes`?"],
    ["connect", () => connect(address, given({ revision: "2025-11-25" })), "did you mean `era`?"],
    ["connect", () => connect(address, given({ answer: {} })), "did you mean `answers`?"],
    ["createHost", () => createHost(given({ servers: {}, polcy: [] })), "did you mean `policy`?"],
    ["protect", () => protect(given({ issuer: "x" })), "did you mean `issuers`?"],
    ["oauth", () => oauth(given({ redirct: {} })), "did you mean `redirect`?"],
    ["createMemoryStorage", () => createMemoryStorage(given({ maxEntrys: 1 })), "did you mean `maxEntries`?"],
  ])("%s", async (_, call, message) => {
    await expect(async () => call()).rejects.toThrow(message);
    await expect(async () => call()).rejects.toMatchObject({
      name: "PortolanError",
      message: expect.stringContaining("unknown option `"),
    });
  });
});
