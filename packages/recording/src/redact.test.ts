import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MessageRedactor, redactMessage } from "./redact.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Returns a text, its decoded base64, and the base64 decoded from that. */
function meaningsOf(text: string, depth = 3): string[] {
  const runs = depth > 0 ? (text.match(/[\w+/]{8,}={0,2}/g) ?? []) : [];
  return [text, ...runs.flatMap((run) => meaningsOf(Buffer.from(run, "base64").toString(), depth - 1))];
}

describe("a known secret", () => {
  const secret = "Tr0ub4dor&3/ü";
  const knowing = () => {
    const redactor = new MessageRedactor();
    redactor.redact({ params: { arguments: { password: secret } } });
    return redactor;
  };

  test.each([
    ["as it is", secret],
    ["in a sentence", `it was ${secret}, I think`],
    ["as JSON", JSON.stringify({ a: [secret] })],
    ["as JSON in JSON", JSON.stringify(JSON.stringify({ a: secret }))],
    ["in an address", `https://x.example/${encodeURIComponent(secret)}`],
    ["in hexadecimal", Buffer.from(secret).toString("hex")],
    ["in base64", base64(secret)],
    ["in base64 of more", `x ${base64(`1${secret}2`)} y ${base64(`12${secret}`)}`],
    ["in base64 of base64", base64(`so: ${base64(`and ${secret}`)}`)],
  ])("is found %s", (_, text) => {
    const kept = JSON.stringify(knowing().redact({ result: { text, list: [{ [text]: 1 }] } }));
    const seen = meaningsOf(kept).join("\n");
    expect(seen).toContain("[redacted]");
    expect(seen).not.toMatch(/Tr0ub4dor|5472307562/);
  });

  test("is found at the beginning of the message that names it at its end", () => {
    const message = { a: "early s3cret-value", token: "s3cret-value" };
    expect(redactMessage(message)).toEqual({ a: "early [redacted]", token: "[redacted]" });
  });

  test("may be the password of Basic, or the token of a header", () => {
    const redactor = new MessageRedactor();
    redactor.learn({ authorization: `Basic ${base64("ada:sesame-7")}`, "x-api-key": "abcdefgh" });
    expect(redactor.redact(["sesame-7", "abcdefgh", "Ada"])).toEqual(["[redacted]", "[redacted]", "Ada"]);
  });

  test("does not include common words", () => {
    const redactor = new MessageRedactor();
    redactor.learn([{ API_TOKEN: "required", PASSWORD: "password", SOME_SECRET: "x" }]);
    redactor.redact({ auth: "optional", token: "forecast" });
    const message = { required: ["password"], x: "optional forecast required" };
    expect(redactor.redact(message)).toBe(message);
  });
});

test("redacts secrets within base64", () => {
  const { blob } = redactMessage({ blob: base64("A=1\nAPI_TOKEN=abcdefgh\nB=2\n") });
  expect(Buffer.from(blob, "base64").toString()).toBe("A=1\nAPI_TOKEN=[redacted]\nB=2\n");
});

test("leaves images, paths and states unchanged", () => {
  const message = {
    data: Buffer.from([0x89, 0x50, 0x4e, 0x47, ...Array.from({ length: 200 }, (_, at) => (at * 37) % 256)]).toString(
      "base64",
    ),
    path: "/usr/share/some/long/path/of/files/and-more_of_it.txt",
    text: '{"a": 1.0, "b": [ ]}',
    requestState: "v1.KezVOtwhsKkoqYU87eLGc5X1j6RNYMXndSF7G9A-WY4mTpvKDGd1jJZXvjXtB_TbQf9su2ek7abtvz6S",
  };
  expect(redactMessage(message)).toBe(message);
});

describe("a schema", () => {
  test("keeps its field names and loses default secrets", () => {
    const inputSchema = {
      type: "object",
      properties: {
        password: { type: "string", default: "hunter-2-2", description: "Your password", minLength: 3 },
        auth: { anyOf: [{ const: "abc-123-def" }, { type: "null" }] },
        name: { default: "Ada" },
      },
      $defs: { token: { type: "string", examples: ["tok-1-2-3"] } },
      required: ["password"],
    };
    expect(redactMessage({ tools: [{ inputSchema }] }).tools[0]?.inputSchema).toEqual({
      type: "object",
      properties: {
        password: { type: "string", default: "[redacted]", description: "Your password", minLength: 3 },
        auth: { anyOf: [{ const: "[redacted]" }, { type: "null" }] },
        name: { default: "Ada" },
      },
      $defs: { token: { type: "string", examples: "[redacted]" } },
      required: ["password"],
    });
  });

  test("is recognized only where the protocol has one", () => {
    const message = { inputSchema: { password: "hunter-2-2", properties: { token: "abc-123-def" } } };
    expect(redactMessage(message)).toEqual({
      inputSchema: { password: "[redacted]", properties: { token: "[redacted]" } },
    });
  });
});

test("redacting twice changes nothing", () => {
  const names = fc.constantFrom("password", "text", "inputSchema", "properties", "token", "a");
  const { message } = fc.letrec((tie) => ({
    leaf: fc.oneof(
      fc.string(),
      fc.integer(),
      fc.constantFrom("Bearer abcdef123", "hunter-2-2", "a=1", "token=xyz12345"),
    ),
    message: fc.oneof(
      { depthSize: "small" },
      tie("leaf"),
      fc.dictionary(names, tie("message")),
      fc.array(tie("message")),
    ),
  }));
  const property = fc.property(message, (value) => {
    const once = redactMessage(value);
    expect(redactMessage(once)).toEqual(once);
  });
  fc.assert(property, { numRuns: 300 });
});
