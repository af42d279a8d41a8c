import { describe, expect, test } from "vitest";
import { PortolanError } from "../errors.ts";
import type { JsonObject, Message } from "./message.ts";
import { serialize } from "./message.ts";

function failure(message: Message | Message[]): PortolanError {
  try {
    serialize(message as Message);
  } catch (error) {
    expect(error).toBeInstanceOf(PortolanError);
    return error as PortolanError;
  }
  throw new Error("expected serialize to throw");
}

const result = (value: JsonObject): Message => ({ jsonrpc: "2.0", id: 1, result: value });

function nest(levels: number, leaf: unknown): JsonObject {
  let value: JsonObject = { leaf };
  for (let level = 0; level < levels; level++) value = { in: value };
  return value;
}

describe("serialized text", () => {
  test("is the JSON of the message on one line", () => {
    const message = result({ text: "a\nb\r\n\u2028 🧭" });
    expect(serialize(message)).toBe(JSON.stringify(message));
    expect(serialize(message)).not.toContain("\n");
  });

  test("is a JSON array for a batch of responses", () => {
    const batch = [{ jsonrpc: "2.0" as const, id: 1, result: {} }];
    expect(serialize(batch)).toBe(JSON.stringify(batch));
  });

  test.each([[0], ['a"b\n'], [-7]])("joins the id %j with a prepared result", (id) => {
    const text = serialize({ id, resultText: '{"tools":[]}' });
    expect(JSON.parse(text)).toEqual({ jsonrpc: "2.0", id, result: { tools: [] } });
    expect(text).not.toContain("\n");
  });
});

describe("a value without JSON form", () => {
  test("is named by its path when it is a BigInt", () => {
    const error = failure(result({ structuredContent: { rows: [1, 2, 3, { id: 5n }] } }));
    expect(error.code).toBe("unserializable");
    expect(error.message).toBe("result.structuredContent.rows[3].id: a BigInt has no JSON form; send a string");
    expect(error.cause).toBeInstanceOf(TypeError);
  });

  test("is found in a batch and behind odd keys", () => {
    const batch = [result({}), result({ "odd key": { 7: Object(1n) } })];
    expect(failure(batch).message).toBe('result["odd key"]["7"]: a BigInt has no JSON form; send a string');
  });

  test("is named if it refers back to its parent", () => {
    const loop: JsonObject = { items: [] };
    loop["items"] = [{ parent: loop }];
    expect(failure(result({ a: loop })).message).toBe(
      "result.a.items[0].parent: refers back to result.a; a loop has no JSON form",
    );
    const message = result({});
    (message as { result: JsonObject }).result["self"] = message;
    expect(failure(message).message).toMatch(/^result\.self: refers back to the message;/);
  });

  test("is named when its toJSON or a getter throws, in one line", () => {
    const toJSON = (): never => {
      throw new Error("no\nway");
    };
    expect(failure(result({ when: { toJSON } })).message).toBe("result.when: its toJSON threw: no");
    const lazy = Object.defineProperty({}, "value", { enumerable: true, get: toJSON });
    expect(failure(result({ lazy })).message).toBe("result.lazy.value: reading it threw: no");
    const proxy = new Proxy({}, { ownKeys: toJSON });
    expect(failure(result({ proxy })).message).toBe("result.proxy: listing its members threw: no");
  });

  test("is found in the result of toJSON", () => {
    expect(failure(result({ a: { toJSON: () => ({ b: 1n }) } })).message).toMatch(/^result\.a\.b: a BigInt/);
  });

  test("is reported as too deep, with a short path", () => {
    const { message } = failure(result(nest(20_000, 1)));
    expect(message).toMatch(/^result\.in\.in\..*….*\.in: nested more than 512 levels deep/);
    expect(message.length).toBeLessThan(250);
  });

  test("is distinguished from a deep value beside it", () => {
    expect(failure(result({ deep: nest(600, 1), bad: 1n })).message).toMatch(/^result\.bad: a BigInt/);
  });

  test("is found quickly among shared values", () => {
    let shared: JsonObject = { leaf: true };
    for (let level = 0; level < 60; level++) shared = { a: shared, b: shared };
    expect(failure(result({ first: 1n, shared })).message).toMatch(/^result\.first: a BigInt/);
    const hidden = Object.defineProperty({}, "bad", { enumerable: true, get: flaky(shared) });
    expect(failure(result({ hidden })).message).toMatch(/^the message has no JSON form: first read$/);
  });
});

/** Throws when read first, and gives the value later. */
function flaky(value: unknown): () => unknown {
  let reads = 0;
  return () => {
    if (reads++ === 0) throw new Error("first read");
    return value;
  };
}
