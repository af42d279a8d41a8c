import { expect } from "vitest";
import { startServer } from "../interop/client/start-server.ts";
import { quickServer } from "../kit/quick-servers.mjs";
import { errorOf, fileOf, runPortolan, showOf, stateOf } from "./manage-kit.ts";
import { openTerminal, type PseudoTerminal } from "./pseudo-terminal.ts";

/** An official reference server, as installed. */
export const official = (name: string): string =>
  fileOf(`test/peers/node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);

/** The fixture in another implementation. All have the same tools, resources and prompts. */
export const fixture = (name: string): string => quickServer(fileOf(`test/peers/servers/${name}.mjs`));

/** A listening fixture: its address, and how to end it. */
export const startFixture = (name: string, habit: string) =>
  startServer({ args: [fixture(name)], env: { FIXTURE_HTTP: habit } });

/** Starts the official everything server over HTTP. */
export const startEverything = (transport: "sse" | "streamableHttp") =>
  startServer({
    args: [official("everything"), transport],
    toUrl: (line, port) =>
      /(listening|running) on port/.test(line)
        ? `http://127.0.0.1:${port}/${transport === "sse" ? "sse" : "mcp"}`
        : undefined,
  });

/** The command on a terminal, with the state that the other helpers use. */
export function openPortolan(args: readonly string[], cwd: string, columns = 120): PseudoTerminal {
  return openTerminal(args, { cwd, columns, env: { PORTOLAN_HOME: stateOf(cwd), NO_COLOR: "1" } });
}

interface Result {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: unknown;
}

/** Calls a tool that must succeed. Returns its texts. */
export async function textsOf(cwd: string, words: readonly string[], input?: string): Promise<string[]> {
  const { content } = await showOf<Result>(["call", ...words], { cwd, ...(input !== undefined && { input }) });
  return content.flatMap(({ text }) => text ?? []);
}

/** Runs a command that fails. Returns its exit code and error. */
export async function failureOf(
  cwd: string,
  args: readonly string[],
): Promise<{ code: number | null; message: string; next?: string }> {
  const ran = await runPortolan(args, { cwd });
  const { message, next } = errorOf(ran);
  return { code: ran.code, message, ...(next !== undefined && { next }) };
}

/** Tests a fixture and its failures with every command that needs no terminal. */
export async function expectWhole(cwd: string, name: string, { version, era }: { version: string; era: string }) {
  const listed = await showOf<{ server: object; tools: { name: string }[] }>(["ls", name], { cwd });
  expect(listed).toMatchObject({ server: { version, era, info: { version: "1.2.3" } } });
  expect(listed.tools.map((tool) => tool.name)).toEqual(expect.arrayContaining(["echo", "add", "fail", "mixed"]));

  expect(await textsOf(cwd, [`${name}.echo`, "text=012 ✓"])).toEqual(["012 ✓"]);
  const sum = { structuredContent: { sum: 3 } };
  expect(await showOf(["call", `${name}.add`, "a=1", "b:=2"], { cwd })).toMatchObject(sum);
  expect(await showOf(["call", name, "add", '{"a":1,"b":2}'], { cwd })).toMatchObject(sum);
  expect(await showOf(["call", `${name}.add`, "-"], { cwd, input: '{ "a": 1, "b": 2 }' })).toMatchObject(sum);

  const failed = { code: 5, message: "Out of ink", next: `portolan ls ${name}.fail` };
  expect(await failureOf(cwd, ["call", `${name}.fail`])).toEqual(failed);
  const next = `portolan ls ${name}`;
  const unknown = expect.stringContaining(`${name} has no tool "ecko"; did you mean echo?`);
  expect(await failureOf(cwd, ["call", `${name}.ecko`])).toEqual({ code: 2, message: unknown, next });
  const wrong = { code: 2, message: 'a: expected number, got "one"' };
  expect(await failureOf(cwd, ["call", `${name}.add`, "a=one", "b=2"])).toMatchObject(wrong);
  expect(await failureOf(cwd, ["call", `${name}.add`, "a=1"])).toMatchObject({ code: 2, message: "add needs b=…" });

  const read = await showOf<{ contents: object[] }>(["read", name, "note://7"], { cwd });
  expect(read.contents).toMatchObject([{ uri: "note://7", text: "Note 7" }]);
  const prompt = await showOf<{ messages: object[] }>(["prompt", name, "greet", "name=Ada", "tone=dry"], { cwd });
  expect(prompt.messages).toMatchObject([{ content: { text: "Greet Ada in a dry tone" } }]);
  expect(await showOf(["complete", name, "greet", "name", "A"], { cwd })).toMatchObject({ values: ["Ada", "Alan"] });
  expect(await showOf(["complete", name, "note://{id}", "id", "1"], { cwd })).toMatchObject({
    values: ["1", "10", "11"],
  });
  expect(await showOf(["doctor", name], { cwd })).toMatchObject({ findings: [], servers: [{ state: "ready" }] });
}

/** Tests the basics of a fixture. */
export async function expectAlive(cwd: string, name: string, server: { version: string; era: string }): Promise<void> {
  expect(await showOf(["ls", name], { cwd })).toMatchObject({ server });
  const sum = { structuredContent: { sum: 3 } };
  expect(await showOf(["call", `${name}.add`, "a=1", "b:=2"], { cwd })).toMatchObject(sum);
  expect(await failureOf(cwd, ["call", `${name}.fail`])).toMatchObject({ code: 5, message: "Out of ink" });
  expect(await showOf(["doctor", name], { cwd })).toMatchObject({ findings: [] });
}

/** Tests questions and logs during a call, if logs use the same connection. */
export async function expectAsking(cwd: string, name: string, isOneConnection = true): Promise<void> {
  const form = openPortolan(["call", `${name}.ask`], cwd);
  await form.answer(/Who are you\?[\s\S]*Name[\s\S]*>$/, "Ada\r");
  await form.answer(/size[\s\S]*>$/, "\r");
  await form.answer("c cancel", "y\r");
  await form.see("Hello Ada, size m");
  expect(await form.exited).toBe(0);

  const sampling = openPortolan(["call", `${name}.sample`, "text=the sea"], cwd);
  await sampling.answer(/Summarize: the sea[\s\S]*N never/, "y\r");
  await sampling.answer("n withhold it", "y\r");
  await sampling.see(/^demo: /m);
  expect(await sampling.exited).toBe(0);

  const log = openPortolan(["call", `${name}.log`, "label=ink"], cwd);
  expect(await log.exited).toBe(0);
  expect(log.screen()).toMatch(/logged$/);
  expect(log.screen()).not.toContain("ink debug");
  if (isOneConnection) {
    expect(log.screen()).toMatch(/info .*ink info.*\nwarning .*ink warning.*\nerror .*ink error.*\nlogged$/);
  }

  const listed = openPortolan(["ls", name], cwd);
  expect(await listed.exited).toBe(0);
  expect(listed.screen()).toMatch(/^ {2}add\(a: number, b: number\)( → \{ sum \})?/m);
  expect(listed.screen()).toMatch(/^ {2}\/greet <name> \[tone\] +Greets somebody$/m);
}
