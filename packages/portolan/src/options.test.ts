import { describe, expect, test } from "vitest";
import { checkOptions } from "./options.ts";

interface Example {
  readonly policy?: string;
  readonly path?: string;
  readonly maxBytes?: number;
}

const known = { policy: 1, path: 1, maxBytes: 1 } as const;
const check = (given: object) => () =>
  checkOptions<Example>(given, known, "example", { synonyms: { inputSchema: "input" } });

describe("checkOptions", () => {
  test("accepts known names, also with undefined values", () => {
    expect(check({ policy: "x", maxBytes: undefined })).not.toThrow();
  });

  test.each([
    ["polcy", "policy"],
    ["Path", "path"],
    ["maxbyte", "maxBytes"],
    ["polciy", "policy"],
    ["olicy", "policy"],
    ["pathname", "path"],
  ])("suggests the nearest name for %s", (wrong, right) => {
    expect(check({ [wrong]: 1 })).toThrow(`example: unknown option \`${wrong}\`; did you mean \`${right}\`?`);
  });

  test("lists all names where none is near", () => {
    expect(check({ zebra: 1 })).toThrow("example: unknown option `zebra`; expected one of policy, path, maxBytes");
  });

  test("prefers a synonym to the nearest name", () => {
    expect(check({ inputSchema: {} })).toThrow("did you mean `input`?");
  });

  test("refuses names that every object inherits", () => {
    expect(check({ toString: 1 })).toThrow("unknown option `toString`");
    expect(check(JSON.parse('{"__proto__":1}'))).toThrow("unknown option `__proto__`");
  });

  test("stays quick and short for an absurdly long name", () => {
    expect(check({ ["x".repeat(1_000_000)]: 1 })).toThrow(`\`${"x".repeat(60)}\``);
  });
});
