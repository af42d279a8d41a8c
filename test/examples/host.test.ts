import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { scriptedModel } from "portolan-host/models";
import { expect, onTestFinished, test } from "vitest";
import { scriptOf } from "../servers/kit/programs.ts";
import { makeFolder, pathTo } from "./example.ts";

const postJson = (url: string, token: string, body: object): Promise<Response> =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });

async function makeConfig(folder: string): Promise<string> {
  const file = join(folder, ".mcp.json");
  const time = { command: process.execPath, args: [scriptOf("time")] };
  await writeFile(file, JSON.stringify({ mcpServers: { time } }));
  return file;
}

test("the script asks before it starts a server, runs its task, and logs its activity", async () => {
  const folder = await makeFolder();
  const script = pathTo("examples/host/script.mjs");
  const run = async (...answers: string[]) => {
    const args = [script, await makeConfig(folder), "What time is it now?"];
    const child = spawn(process.execPath, args, { cwd: folder });
    child.stdin.end(answers.map((answer) => `${answer}\n`).join(""));
    const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
    return { output, errors, code };
  };

  // Yes to the start, no to the labels of its tools, yes to the call.
  const agreed = await run("y", "n", "y");
  expect(agreed).toMatchObject({ code: 0 });
  expect(agreed.errors).toContain(
    `New server "time"\n  Command: ${process.execPath}\n  Argument 1: ${scriptOf("time")}`,
  );
  expect(agreed.errors).toMatch(/time: now .*\? \[y\/N\]/);
  expect(agreed.errors).toContain("⚙ time.now");
  expect(agreed.output).toMatch(/\d\d:\d\d/);
  const log = await readFile(join(folder, "activity.ndjson"), "utf8");
  expect(log).toContain('"kind":"trust"');
  expect(log).toContain('"name":"now"');
  expect(log).toContain('"trustHints":false');

  const believed = await run("y", "y");
  expect(believed.errors).toContain("⚙ time.now");
  expect(believed.errors).not.toContain("time: now");

  const refused = await run("n");
  expect(refused.errors).toContain("time is not used");
  expect(refused.errors).not.toContain("⚙");
});

/** Yields the events of a stream as they arrive. */
async function* eventsOf(
  response: Response,
): AsyncGenerator<{ type: string; question?: { id: string; kind: string } }> {
  let rest = "";
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    rest += piece;
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      yield JSON.parse(/^data: (.*)$/m.exec(rest.slice(0, end))![1]!);
      rest = rest.slice(end + 2);
    }
  }
}

test("the web back end streams a run, and continues it when the page answers", async () => {
  const file = "examples/host/web.mjs";
  const { serveAssistant } = await import(pathToFileURL(pathTo(file)).href);
  const servers = { time: { command: process.execPath, args: [scriptOf("time")] } };
  const { url, token, close } = await serveAssistant({ servers });
  onTestFinished(close);
  const post = (path: string, body: object) => postJson(url + path, token, body);

  const types: string[] = [];
  for await (const event of eventsOf(await post("/runs", { task: "What time is it now?" }))) {
    types.push(event.type);
    if (event.type === "approval") {
      expect((await post("/answers", { id: event.question!.id, answer: "perhaps" })).status).toBe(400);
      expect((await post("/answers", { id: event.question!.id, answer: true })).status).toBe(204);
    }
  }
  expect(types).toEqual(expect.arrayContaining(["notice", "tool", "approval", "text", "done"]));
  expect(types.at(-1)).toBe("done");
  expect(await (await post("/answers", { id: "q99", answer: true })).json()).toEqual({
    error: expect.stringContaining('answer: no question "q99" is waiting'),
  });
});

test("the web back end sends the reason of a failed run", async () => {
  const { serveAssistant } = await import(pathToFileURL(pathTo("examples/host/web.mjs")).href);
  const { url, token, close } = await serveAssistant({ model: scriptedModel([{ fail: new Error("out of words") }]) });
  onTestFinished(close);
  const events: object[] = [];
  for await (const event of eventsOf(await postJson(`${url}/runs`, token, { task: "x" }))) events.push(event);
  expect(events.at(-1)).toMatchObject({ type: "done", reason: "failed", error: "out of words" });
});

/** Sends a request with exactly these headers, and returns the status of its answer. */
async function statusOf(url: string, headers: { [name: string]: string }): Promise<number> {
  const sent = request(url, { method: "POST", headers });
  sent.end('{"id":"x","answer":true}');
  const [response] = await once(sent, "response");
  response.resume();
  return response.statusCode;
}

test("the web back end refuses a sender that may not answer: no token, another site, another host name, no JSON", async () => {
  const { serveAssistant } = await import(pathToFileURL(pathTo("examples/host/web.mjs")).href);
  const { url, token, close } = await serveAssistant({});
  onTestFinished(close);
  const right = { "content-type": "application/json", authorization: `Bearer ${token}` };
  const cases: [headers: { [name: string]: string }, status: number][] = [
    [right, 400],
    [{ ...right, "content-type": "application/json; charset=utf-8", origin: url }, 400],
    [{ "content-type": "application/json" }, 401],
    [{ ...right, authorization: `Bearer ${"x".repeat(token.length)}` }, 401],
    [{ ...right, origin: "https://evil.example" }, 403],
    [{ ...right, origin: "null" }, 403],
    [{ ...right, host: "evil.example" }, 403],
    [{ ...right, "content-type": "text/plain" }, 415],
  ];
  for (const [headers, status] of cases)
    expect([headers, await statusOf(`${url}/answers`, headers)]).toEqual([headers, status]);
  const large = postJson(`${url}/runs`, token, { task: "x".repeat(1_000_000) });
  expect(await large.then(({ status }) => status).catch(() => 400)).toBe(400);
});

test("the test of the assistant passes", async () => {
  // This runs "examples/host/assistant.mjs".
  const { stdout } = await promisify(execFile)(process.execPath, [pathTo("examples/host/assistant.test.mjs")]);
  expect(stdout).toContain("# pass 1");
});
