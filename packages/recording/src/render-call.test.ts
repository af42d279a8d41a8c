import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MessageRedactor } from "./redact.ts";
import { type CallToRender, renderCall, topLevelMember } from "./render-call.ts";
import { jsonExpression, shellWord, splitJson, textExpression } from "./secret-parts.ts";

const big = '{"n":12345678901234567890,"word":"it\'s $HOME `x` \\"q\\""}';
const call = (args = big, more = "") =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":${args}${more}}}`;
const far = { url: "https://far.example/mcp?v=1" };
const near = { command: "node", args: ["my server.js"] };

/** What a shell makes of a line whose program prints its arguments. */
function argumentsIn(line: string, program: string, env: { [name: string]: string } = {}): string[] {
  const script = `${program}() { for word; do printf '%s\\0' "$word"; done; }\n${line}`;
  const text = execFileSync("/bin/sh", ["-c", script], {
    env: { PATH: process.env["PATH"], ...env },
    encoding: "utf8",
  });
  return text.split("\0").slice(0, -1);
}

/** What an expression of TypeScript is worth. */
function evaluate(expression: string, env: { [name: string]: string } = {}): unknown {
  return new Function("process", `return (${expression})`)({ env });
}

describe("for a shell", () => {
  test("any text without NUL is one word with exactly its characters", () => {
    const texts = fc.array(
      fc.string({ unit: "binary", maxLength: 30 }).map((text) => text.replaceAll("\0", "")),
      { minLength: 1, maxLength: 20 },
    );
    fc.assert(
      fc.property(texts, (words) => {
        const wellFormed = words.map((word) => Buffer.from(word).toString());
        expect(argumentsIn(`show ${wellFormed.map((word) => shellWord([word])).join(" ")}`, "show")).toEqual(
          wellFormed,
        );
      }),
      { numRuns: 40 },
    );
  });

  test("curl sends the body as it was, and the headers", () => {
    const line = renderCall(
      {
        text: call(),
        target: { ...far, headers: { Authorization: "Bearer …", "X-Plain": "a b" } },
        revision: "2025-11-25",
      },
      "curl",
    );
    expect(argumentsIn(line, "curl", { TOKEN: "t 1" })).toEqual([
      ...["-gsS", "-N", "https://far.example/mcp?v=1"],
      ...["-H", "content-type: application/json", "-H", "accept: application/json, text/event-stream"],
      ...["-H", "authorization: Bearer t 1", "-H", "x-plain: a b", "-H", "mcp-protocol-version: 2025-11-25"],
      ...["--data-raw", call()],
    ]);
  });

  test("a session is a variable, because it is over when the line is used", () => {
    const headers = { "Mcp-Session-Id": "abc" };
    const line = renderCall({ text: call(), target: { ...far, headers } }, "curl");
    expect(line).toMatch(/^# MCP_SESSION_ID: /);
    expect(argumentsIn(line, "curl", { MCP_SESSION_ID: "s" })).toContain("mcp-session-id: s");
  });

  test("secrets are variables with the names of their members", () => {
    const text = call('{"apiKey":"hunter2-secret","list":[{"password":"swordfish1"}],"Password":"again1234"}');
    const line = renderCall({ text, target: { url: "https://far.example/mcp?api_key=hunter2-secret&v=2" } }, "curl");
    expect(line).not.toMatch(/hunter2|swordfish|again1234/);
    const words = argumentsIn(line, "curl", { API_KEY: "K", PASSWORD: "P", PASSWORD_2: "Q" });
    expect(words[2]).toBe("https://far.example/mcp?api_key=K&v=2");
    expect(JSON.parse(words.at(-1) ?? "").params.arguments).toEqual({
      apiKey: "K",
      list: [{ password: "P" }],
      Password: "Q",
    });
  });

  test("numbers keep their digits beside a secret", () => {
    const text = call('{"n":12345678901234567890,"f":1.10,"token":"hunter2-secret"}');
    expect(renderCall({ text, target: far }, "json")).toBe(
      call('{"n":12345678901234567890,"f":1.10,"token":"$TOKEN"}'),
    );
  });

  test("knows the secrets that a redactor has learned", () => {
    const redactor = new MessageRedactor();
    redactor.learn({ MY_TOKEN: "swordfish-9" });
    expect(renderCall({ text: call('{"say":"swordfish-9"}'), target: far }, "curl", { redactor })).not.toContain(
      "swordfish",
    );
  });

  test("a command gets its handshake first, unless the request names its revision", () => {
    const line = renderCall(
      { text: call(), target: { ...near, variables: ["MY_KEY"] }, revision: "2025-06-18" },
      "curl",
    );
    expect(line).toContain(`"protocolVersion":"2025-06-18"`);
    expect(line).toContain(`| MY_KEY="$MY_KEY" node 'my server.js'`);
    const stateless = call("{}", ',"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}');
    expect(renderCall({ text: stateless, target: near }, "curl")).not.toContain("initialize");
  });

  test.each<[string, CallToRender, string[]]>([
    ["a tool of a named server", { text: call(), target: near, server: "my files" }, ["call", "my files", "echo", big]],
    [
      "a tool at an address",
      { text: call("{}"), target: { ...far, headers: { "x-key": "secret" } } },
      ["call", far.url, "--header", "x-key=V", "echo", "{}"],
    ],
    ["a tool of a command", { text: call("{}"), target: near }, ["call", "echo", "{}", "--", "node", "my server.js"]],
    [
      "a resource",
      { text: '{"method":"resources/read","params":{"uri":"a://b?c d"}}', target: near, server: "s" },
      ["read", "s", "a://b?c d"],
    ],
    [
      "a prompt",
      { text: '{"method":"prompts/get","params":{"name":"p","arguments":{"a":"b c"}}}', target: near, server: "s" },
      ["prompt", "s", "p", "a=b c"],
    ],
    ["a list", { text: '{"method":"tools/list"}', target: near, server: "s" }, ["ls", "s"]],
    [
      "a completion",
      {
        text: '{"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""},"context":{"arguments":{"k":"v"}}}}',
        target: near,
        server: "s",
      },
      ["complete", "s", "p", "a", "", "k=v"],
    ],
  ])("portolan: %s", (_, rendered, words) => {
    expect(argumentsIn(renderCall(rendered, "command"), "portolan", { X_KEY: "V" })).toEqual(words);
  });

  test("says that the command cannot send another request", () => {
    expect(renderCall({ text: '{"method":"x\\ny"}', target: near }, "command")).toBe(
      '# The command cannot send "x\\ny".',
    );
  });
});

describe("as TypeScript", () => {
  test("any JSON is an expression with the same value", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const parsed: unknown = JSON.parse(text);
        expect(evaluate(jsonExpression([text]))).toEqual(parsed);
      }),
    );
    expect(Object.keys(evaluate(jsonExpression(['{"__proto__":{"a":1}}'])) as object)).toEqual(["__proto__"]);
  });

  test("any text around a secret keeps its characters", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(evaluate(textExpression([text, { variable: "A" }, text]), { A: "|" })).toBe(`${text}|${text}`);
      }),
    );
    const placeholder = ["`$", "{x}`"].join("");
    const parts = splitJson(JSON.stringify({ say: `Bearer abcdefghijklmnop1234 ${placeholder}` }));
    expect(evaluate(jsonExpression(parts), { SAY: "T" })).toEqual({ say: `Bearer T ${placeholder}` });
  });

  test("passes headers and variables from the environment", () => {
    const remote = renderCall(
      { text: call(), target: { ...far, headers: { authorization: "Bearer x" } } },
      "typescript",
    );
    expect(remote).toContain(
      `http("${far.url}", { headers: { "authorization": \`Bearer \${process.env["TOKEN"]}\` } })`,
    );
    const local = renderCall(
      { text: call(), target: { ...near, variables: ["A"] }, revision: "2025-06-18" },
      "typescript",
    );
    expect(local).toContain(`env: { "A": process.env["A"] ?? "" } }, { era: "2025-06-18" })`);
  });
});

test("copies JSON as it was sent", () => {
  const text = `{ "jsonrpc": "2.0",\n "method": "x", "params": { "n": 1e400 } }`;
  expect(renderCall({ text, target: near }, "json")).toBe(text);
});

test.each([
  ['{"a":1,"b":{"a":[2,3]}}', "b", '{"a":[2,3]}'],
  ['{ "a" : "}," , "c":3 }', "c", "3"],
  ['{"a":"x","a":"y"}', "a", '"y"'],
  ['{"\\u0061":1}', "a", "1"],
  ["{}", "a", undefined],
  ["[1]", "a", undefined],
])("finds in %s the member %s", (text, name, found) => {
  expect(topLevelMember(text, name)).toBe(found);
});
