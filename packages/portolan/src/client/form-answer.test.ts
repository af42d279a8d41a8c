import { describe, expect, test } from "vitest";
import type { ElicitFormParams, ElicitResult, FormSchema } from "../protocol/types/index.ts";
import { checkFormAnswer } from "./form-answer.ts";

type Fields = { [name: string]: object };

function check(properties: Fields, answer: object, required?: string[]): Promise<ElicitResult> {
  const requestedSchema = { type: "object", properties, ...(required && { required }) } as FormSchema;
  const params: ElicitFormParams = { message: "Please", requestedSchema };
  return checkFormAnswer(params, answer as ElicitResult);
}

const accept = (content: object) => ({ action: "accept", content });

/** Returns the error message, or "fits". */
async function verdict(field: object, value: unknown): Promise<string> {
  try {
    await check({ field }, accept({ field: value }));
    return "fits";
  } catch (error) {
    expect(error).toMatchObject({ name: "PortolanError", code: "answer-invalid" });
    return (error as Error).message.replace("The answer does not fit the form: ", "");
  }
}

describe("an answer that is not accepted", () => {
  test.each(["decline", "cancel"])("loses its content: %s", async (action) => {
    const answer = { action, content: { name: 1 }, _meta: { a: 1 } };
    expect(await check({ name: { type: "string" } }, answer, ["name"])).toEqual({ action, _meta: { a: 1 } });
  });

  test("must have an action of the protocol", async () => {
    await expect(check({}, { action: "agree" })).rejects.toThrow(
      'action: expected one of "accept", "decline", "cancel", got "agree"',
    );
  });
});

describe("defaults", () => {
  const fields = {
    name: { type: "string", default: "Ada" },
    age: { type: "integer", default: 36 },
    isMember: { type: "boolean", default: false },
    colours: { type: "array", items: { type: "string", enum: ["red", "blue"] }, default: ["red"] },
    note: { type: "string" },
  };

  test("fill in every missing field", async () => {
    const filled = { name: "Ada", age: 36, isMember: false, colours: ["red"] };
    expect(await check(fields, { action: "accept" })).toEqual(accept(filled));
    expect(await check(fields, accept({ name: undefined }))).toEqual(accept(filled));
    expect(await check(fields, accept({}), ["name", "age"])).toEqual(accept(filled));
  });

  test("do not replace entered values", async () => {
    const entered = { name: "", age: 0, isMember: true, colours: [], note: "x" };
    expect(await check(fields, { ...accept(entered), _meta: { a: 1 } })).toEqual({
      ...accept(entered),
      _meta: { a: 1 },
    });
  });

  test("that their own field refuses are not used", async () => {
    const broken = { size: { type: "string", enum: ["s", "m"], default: "xl" } };
    expect(await check(broken, accept({}))).toEqual(accept({}));
    await expect(check(broken, accept({}), ["size"])).rejects.toThrow("size: required, got nothing");
  });

  test("and answers of a field called __proto__ change no prototype", async () => {
    const properties = JSON.parse('{"__proto__": {"type": "string", "default": "safe"}}') as Fields;
    const { content = {} } = await check(properties, accept({}), ["__proto__"]);
    expect(Object.getPrototypeOf(content)).toBe(Object.prototype);
    expect(Object.entries(content)).toEqual([["__proto__", "safe"]]);
    await expect(check(properties, JSON.parse('{"action": "accept", "content": {"__proto__": 1}}'))).rejects.toThrow(
      "__proto__: expected string, got number 1",
    );
  });

  test("are not inherited", async () => {
    const field = Object.assign(Object.create({ default: "inherited" }), { type: "string" });
    expect(await check({ field }, accept({}))).toEqual(accept({}));
    expect(await check({ toString: { type: "string" } }, accept({}))).toEqual(accept({}));
    await expect(check({ toString: { type: "string" } }, accept({}), ["toString"])).rejects.toThrow(
      "toString: required, got nothing",
    );
  });
});

describe("the members of an answer", () => {
  test("are refused by name if the form has no such field", async () => {
    const wrong = check({ name: { type: "string" } }, accept({ name: "Ada", admin: true, "a b": 1 }));
    await expect(wrong).rejects.toThrow('admin: the form has no such field; ["a b"]: the form has no such field');
    await expect(check({}, JSON.parse('{"action": "accept", "content": {"__proto__": {}}}'))).rejects.toThrow(
      "__proto__: the form has no such field",
    );
  });

  test("are all named if several are wrong", async () => {
    const fields = { name: { type: "string" }, age: { type: "integer", minimum: 18 }, city: { type: "string" } };
    await expect(check(fields, accept({ name: 1, age: 3 }), ["city"])).rejects.toThrow(
      "The answer does not fit the form: name: expected string, got number 1; " +
        "age: expected at least 18, got number 3; city: required, got nothing",
    );
  });

  test("are counted if more than ten are wrong", async () => {
    const content = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`f${index}`, 1]));
    await expect(check({}, accept(content))).rejects.toThrow(/f9: the form has no such field; and 2 more$/);
  });

  test("must be members of an object", async () => {
    await expect(check({}, { action: "accept", content: ["x"] })).rejects.toThrow("content: expected an object");
  });
});

describe("a field", () => {
  const text = { type: "string" };
  const choice = { type: "string", enum: ["r", "g"], enumNames: ["Red", "Green"] };
  const titled = {
    type: "string",
    oneOf: [
      { const: "r", title: "Red" },
      { const: "g", title: "Green" },
    ],
  };
  const several = { type: "array", items: { type: "string", enum: ["r", "g", "b"] }, minItems: 1, maxItems: 2 };
  const titledSeveral = {
    type: "array",
    items: {
      anyOf: [
        { const: "r", title: "Red" },
        { const: "g", title: "G" },
      ],
    },
  };

  test.each<[object, unknown, string]>([
    [text, "", "fits"],
    [text, null, "field: expected string, got null"],
    [{ ...text, minLength: 2 }, "a", 'field: expected at least 2 characters, got "a"'],
    [{ ...text, minLength: 2 }, "🦊", 'field: expected at least 2 characters, got "🦊"'],
    [{ ...text, maxLength: 2 }, "🦊🦊", "fits"],
    [{ ...text, maxLength: 2 }, "🦊🦊🦊", 'field: expected at most 2 characters, got "🦊🦊🦊"'],
    [{ type: "number", minimum: 0, maximum: 1 }, 0.5, "fits"],
    [{ type: "number", minimum: 0, maximum: 1 }, 1.5, "field: expected at most 1, got number 1.5"],
    [{ type: "number" }, "1", 'field: expected number, got "1"'],
    [{ type: "number" }, Number.NaN, "field: expected number, got null"],
    [{ type: "integer" }, 2, "fits"],
    [{ type: "integer" }, 2.5, "field: expected integer, got number 2.5"],
    [{ type: "boolean" }, false, "fits"],
    [{ type: "boolean" }, "false", 'field: expected boolean, got "false"'],
    [choice, "g", "fits"],
    [choice, "Green", 'field: expected one of "r", "g", got "Green"'],
    [titled, "r", "fits"],
    [titled, "Red", 'field: expected one of "r", "g", got "Red"'],
    [several, ["r", "b"], "fits"],
    [several, [], "field: expected at least 1 items, got 0"],
    [several, ["r", "g", "b"], "field: expected at most 2 items, got 3"],
    [several, ["r", "x"], 'field[1]: expected one of "r", "g", "b", got "x"'],
    [several, "r", 'field: expected array, got "r"'],
    [titledSeveral, ["g"], "fits"],
    [titledSeveral, ["Red"], 'field[0]: expected one of "r", "g", got "Red"'],
  ])("%j takes %j: %s", async (field, value, expected) => {
    expect(await verdict(field, value)).toBe(expected);
  });

  test.each<[string, string[], string[], string]>([
    [
      "email",
      ["ada@example.com", "a.b+c@localhost", "ü@example.com"],
      ["ada", "@x", "a@", "a b@c", "a@b@c"],
      "an email",
    ],
    [
      "uri",
      ["https://a.example/b?c#d", "urn:isbn:1", "mailto:a@b"],
      ["a.example", "/a", "http://", "https://a b"],
      "URI",
    ],
    ["date", ["2024-02-29", "0001-01-01"], ["2023-02-29", "2024-13-01", "2024-1-1", "2024-01-01T00:00:00Z"], "a date"],
    [
      "date-time",
      ["2024-02-29T10:00:00Z", "2024-01-01t00:00:00.123+05:30", "2016-12-31T23:59:60Z"],
      [
        "2024-01-01",
        "2024-01-01T10:00:00",
        "2024-01-01T24:00:00Z",
        "2023-02-29T10:00:00Z",
        "2024-01-01T10:00:00+99:00",
      ],
      "a time",
    ],
  ])("of the format %s is checked", async (format, good, bad, expected) => {
    for (const value of good) expect([value, await verdict({ ...text, format }, value)]).toEqual([value, "fits"]);
    for (const value of bad) expect(await verdict({ ...text, format }, value)).toContain(expected);
  });

  test("of an unknown format accepts any text", async () => {
    expect(await verdict({ ...text, format: "colour" }, "green")).toBe("fits");
    expect(await verdict({ ...text, format: "constructor" }, "green")).toBe("fits");
  });

  test("is matched with its pattern if that is safe to run", async () => {
    expect(await verdict({ ...text, pattern: "^[A-Z]{2}\\d$" }, "AB1")).toBe("fits");
    expect(await verdict({ ...text, pattern: "^[A-Z]{2}\\d$" }, "ab1")).toContain("expected text that matches");
    expect(await verdict({ ...text, pattern: "^(a+)+$" }, `${"a".repeat(40)}!`)).toBe("fits");
    expect(await verdict({ ...text, pattern: "(" }, "x")).toBe("fits");
  });

  test("ignores keywords that forms do not have", async () => {
    expect(await verdict({ ...text, const: "x", $ref: "https://example.com/schema", not: {} }, "y")).toBe("fits");
  });

  test("that is invalid is reported as the server's fault", async () => {
    await expect(check({ name: { type: "string", minLength: "two" } }, accept({ name: "Ada" }))).rejects.toMatchObject({
      code: "answer-invalid",
      message: expect.stringMatching(/^The server's form has an invalid field: name: .*minLength/),
    });
  });
});
