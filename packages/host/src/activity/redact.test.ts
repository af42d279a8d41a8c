import { describe, expect, test } from "vitest";
import { openActivity } from "./log.ts";
import { createRedactor, mayHoldSecret, mayHoldSecretIn, redact } from "./redact.ts";
import { memorySink } from "./sinks.ts";

/** Keys are joined here, so that scanners of sources find none. */
const key = (...parts: string[]) => parts.join("");
const jwt = key("eyJ", "hbGciOiJIUzI1NiJ9", ".", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", ".", "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9");
const pem = key("-----BEGIN RSA ", "PRIVATE KEY-----\nMIIEow\nabc=\n-----END RSA ", "PRIVATE KEY-----");

const nested = (value: unknown, times: number): string => JSON.stringify(times > 1 ? nested(value, times - 1) : value);

const secrets: [string, unknown, unknown][] = [
  ["a password", { user: "ada", password: "hunter2" }, { user: "ada", password: "[redacted]" }],
  ["short names", { pwd: "a", pass: "b", auth: "c", jwt: "d", cookie: "e", sessionId: "f", userPin: 7 }, "all"],
  ["a number", { pin: 1234 }, { pin: "[redacted]" }],
  ["a whole object", { credentials: { a: 1 } }, { credentials: "[redacted]" }],
  ["other spellings", { apiKey: "x", "api-key": "y", API_KEY: "z" }, "all"],
  ["headers", { Authorization: "abc", "Set-Cookie": "a=b", "x-auth-token": "c" }, "all"],
  ["deep", { a: [{ b: { client_secret: "x" } }] }, { a: [{ b: { client_secret: "[redacted]" } }] }],
  ["pairs", [{ name: "X-Api-Key", value: "x" }], [{ name: "X-Api-Key", value: "[redacted]" }]],
  ["flags", ["--token", "abc", "--port", "80"], ["--token", "[redacted]", "--port", "80"]],
  ["flags with =", ["--api-key=abc"], ["--api-key=[redacted]"]],
  ["variables", "PGPASSWORD=abc psql", "PGPASSWORD=[redacted] psql"],
  ["a bearer", "sent Bearer abc.def-123 away", "sent Bearer [redacted] away"],
  ["basic", "Basic dXNlcjpwYXNz", "Basic [redacted]"],
  ["a JWT", `it is ${jwt}!`, "it is [redacted]!"],
  ["an OpenAI key", key("sk-", "proj-abcdefghijklmnopqrst"), "[redacted]"],
  ["a GitHub token", `use ${key("ghp", "_abcdefghijklmnopqrstuvwxyz0123456789")}.`, "use [redacted]."],
  ["an AWS key", key("AKIA", "IOSFODNN7EXAMPLE"), "[redacted]"],
  ["a Slack token", key("xox", "b-1234567890-abcdefghij"), "[redacted]"],
  ["a private key", `key:\n${pem}\nend`, "key:\n[redacted]\nend"],
  ["a private key without end", pem.slice(0, 50), "[redacted]"],
  ["userinfo", "postgres://ada:hunter2@db/x", "postgres://[redacted]@db/x"],
  ["parameters", "https://a.example/?q=1&access_token=abc&n=2", "https://a.example/?q=1&access_token=[redacted]&n=2"],
  ["a code", "https://a.example/cb?code=abc&state=x", "https://a.example/cb?code=[redacted]&state=x"],
  ["JSON in a text", '{"password": "hunter2", "n": 1}', '{"password": "[redacted]", "n": 1}'],
  ["a header in a text", "Cookie: a=b; c=d\nHost: x", "Cookie: [redacted]\nHost: x"],
  ["words in quotes", '{"password": "two words, three"}', '{"password": "[redacted]"}'],
  ["single quotes", "password: 'two words' is wrong", "password: '[redacted]' is wrong"],
  ["a quote in quotes", String.raw`{"secret":"a\"b c"}`, '{"secret":"[redacted]"}'],
  ["JSON in JSON", String.raw`{"a":"{\"password\":\"two words\"}"}`, String.raw`{"a":"{\"password\":\"[redacted]\"}"}`],
  ["JSON in JSON in JSON", nested({ api_key: "hunter2 x" }, 3), nested({ api_key: "[redacted]" }, 3)],
  ["a flag in a text", "run --db-password hunter2 -v", "run --db-password [redacted] -v"],
  ["a flag with quotes", 'run --token "a b" -v', "run --token [redacted] -v"],
  ["names that go on", { password1: "a", passwordConfirmation: "b", token_value: "c", privateKeyPem: "d" }, "all"],
  ["several", { passwords: ["a", "b"], apiKeys: ["c"], secrets: { d: "e" }, bearer: "f" }, "all"],
  ["raw headers", ["Authorization", "abc", "Host", "x"], ["Authorization", "[redacted]", "Host", "x"]],
  ["a pair", [["x-api-key", "abc"]], [["x-api-key", "[redacted]"]]],
];

describe("redacts", () => {
  test.each(secrets)("%s", (_, given, expected) => {
    const cleaned = redact(given);
    if (expected !== "all") expect(cleaned).toEqual(expected);
    else for (const value of Object.values(cleaned as object)) expect(value).toBe("[redacted]");
  });

  test.each(secrets)("keeps out of the log: %s", async (_, given) => {
    const sink = memorySink();
    const log = openActivity(sink);
    log.record({ kind: "call", given });
    await log.close();
    expect(JSON.parse(sink.text.split("\n")[0]!)).toMatchObject({ given: redact(given) });
    expect(sink.text).toContain("[redacted]");
  });
});

describe("returns the same value if there is no secret", () => {
  test.each<[unknown]>([
    [{ path: "/home/ada/passwords.txt", n: 1 }],
    [{ usage: { inputTokens: 5, maxTokens: 100, tokens: 7 } }],
    [{ progressToken: "a1", nextPageToken: "b" }],
    [{ token: "", password: null, secret: true }],
    [{ author: "Ada", keyboard: "de", spinner: "x" }],
    ["https://a.example/path?q=token#top"],
    ["mail ada@example.com about the secret garden"],
    ["task-list, disk-full, risk-free"],
    [[1, "two", { three: null }]],
    [["password", "user"]],
    ["the option --token <token> is needed"],
  ])("%j", (value) => {
    expect(redact(value)).toBe(value);
  });
});

test("redacts given texts everywhere, the longest first", () => {
  const redactor = createRedactor(["hunter2", "hunter2-and-more", "ab", 'quo"te\n']);
  expect(redactor.redact({ a: "hunter2-and-more, hunter2", hunter2: ["xhunter2x"], b: "ab" })).toEqual({
    a: "[redacted], [redacted]",
    "[redacted]": ["x[redacted]x"],
    b: "ab",
  });
  expect(redactor.mayContainSecret(JSON.stringify({ a: 'quo"te\n' }))).toBe(true);
  expect(redactor.redact('quo"te\n')).toBe("[redacted]");
});

test("stops at circular and very deep values", () => {
  const cycle: { next?: unknown } = {};
  cycle.next = cycle;
  expect(JSON.stringify(redact({ password: "x", cycle }))).toContain("[redacted]");
  expect(redact(JSON.parse('{"__proto__":{"password":"x"}}'))).toEqual(
    JSON.parse('{"__proto__":{"password":"[redacted]"}}'),
  );
});

describe("a log contains no secret", () => {
  test.each<[string, unknown]>([
    ["in a small entry", { password: "hunter2" }],
    ["named by the caller", { text: "it is hunter2" }],
    ["in a large entry", { texts: Array.from({ length: 2_000 }, () => "x".repeat(50)), password: "hunter2" }],
    ["at the beginning of a long text", { text: `hunter2 ${"x".repeat(100_000)}` }],
    ["where a long text is cut", { text: `${"x".repeat(253)}hunter2${"x".repeat(100_000)}` }],
    ["as a name", { hunter2: 1 }],
    ["where a long name is cut", { [`${"x".repeat(253)}hunter2${"x".repeat(100_000)}`]: 1 }],
  ])("%s", async (_, data) => {
    const sink = memorySink();
    const log = openActivity(sink, { secrets: ["hunter2"] });
    log.record({ kind: "call", data });
    await log.flush();
    expect(sink.text).toContain('"kind":"call"');
    expect(sink.text).not.toContain("hun");
    await log.close();
  });

  test("that is added later", async () => {
    const sink = memorySink();
    const log = openActivity(sink);
    log.addSecret("swordfish");
    log.record({ kind: "call", text: "swordfish" });
    await log.close();
    expect(sink.text).toContain("[redacted]");
    expect(sink.text).not.toContain("swordfish");
  });
});

test("redacts a given text in addresses and in base64, at every offset", () => {
  const secret = "hunter2 and/or 3";
  const redactor = createRedactor([secret]);
  for (const before of ["", "u:", "user:", "a"]) {
    const encoded = btoa(`${before}${secret}!`);
    expect(redactor.redact(`sent ${encoded}`)).toMatch(/sent .{0,8}\[redacted\].{0,4}$/);
  }
  expect(redactor.redact(`?q=${encodeURIComponent(secret)}`)).toBe("?q=[redacted]");
  expect(redactor.redact(`/x/${encodeURI(secret)}`)).toBe("/x/[redacted]");
});

const quick = (text: string) => mayHoldSecretIn(text, new TextEncoder().encode(text));

const signs = [
  ...[
    "auth",
    "akia",
    "asia",
    "aiza",
    "bearer",
    "basic ",
    "cookie",
    "credential",
    "dpop ",
    "eyj",
    "ghp_",
    "gho_",
    "ghu_",
  ],
  ...["ghs_", "ghr_", "github_pat_", "glpat-", "jwt", "key", "npm_", "negotiate ", "pass", "pwd", 'pin"', "rk_"],
  ...["secret", "sessi", "sk-", "sk_", "token", "xoxa-", "xoxs-", "-----begin", "://u:p@h", "assertion"],
  ...["?code", "&code", ";code", "?sig", "&sig", ";sig", "?auth", "&auth", ";auth", "?x-amz", "&x-amz", ";x-amz"],
];

test.each(signs)("finds %s at every offset, in both cases, alone and after multi-byte characters", (sign) => {
  for (const form of [sign, sign.toUpperCase(), `${sign[0]?.toUpperCase()}${sign.slice(1)}`]) {
    expect(mayHoldSecret(form)).toBe(true);
    for (const before of ["", "x", "xy", "xyz", "ä", "日本", "😀x"]) {
      for (const after of ["", "q", "qq"]) expect(quick(before + form + after)).toBe(true);
    }
  }
});

test("the byte scan agrees with the pattern for any text", () => {
  const pieces = [...signs.flatMap((sign) => [sign.slice(0, 2), sign.slice(0, 3), sign.slice(1), sign.slice(0, -1)])];
  pieces.push("", "a", " ", '"', "ä", "The quick brown fox", "://host/path", "ſecret", "to\u212aen", "@");
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  let found = 0;
  for (let round = 0; round < 20_000; round++) {
    const text = Array.from({ length: 1 + random(4) }, () => pieces[random(pieces.length)]).join("");
    expect(quick(text), text).toBe(mayHoldSecret(text));
    if (quick(text)) found += 1;
  }
  expect(found).toBeGreaterThan(2_000);
  expect(found).toBeLessThan(18_000);
});
