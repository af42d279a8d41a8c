import { createServer } from "portolan/server";
import { expect, test } from "vitest";
import { connect, eras, info } from "./peers.ts";

const mistakes: [what: string, returned: () => unknown, expected: string][] = [
  [
    "a promise",
    () => ({ rows: Promise.resolve(1) }),
    "structuredContent.rows: expected a value with a JSON form, got a Promise; await it",
  ],
  [
    "a map",
    () => ({ list: [{ of: new Map([["a", 1]]) }] }),
    "structuredContent.list[0].of: expected a value with a JSON form, got a Map",
  ],
  ["a set", () => new Set([1]), "structuredContent: expected a value with a JSON form, got a Set"],
  [
    "an error",
    () => ({ why: new Error("no") }),
    "structuredContent.why: expected a value with a JSON form, got a Error",
  ],
  ["a function", () => () => 1, "structuredContent: expected a value with a JSON form, got a function"],
  [
    "an image without a media type",
    () => [{ type: "image", data: "aW1n" }],
    "content[0].mimeType: expected a string, got nothing",
  ],
  [
    "text that is a promise",
    () => [{ type: "text", text: Promise.resolve("x") }],
    "content[0].text: expected a string, got an object",
  ],
  [
    "a link without a name",
    () => ({ content: [{ type: "resource_link", uri: "a:b" }] }),
    "content[0].name: expected a string, got nothing",
  ],
  ["content that is null", () => ({ content: [null] }), "content[0]: expected a content block, got null"],
  [
    "a promise beside content",
    () => ({ content: [], structuredContent: { a: Promise.resolve(1) } }),
    "structuredContent.a: expected a value",
  ],
];

test.each(eras.flatMap((era) => mistakes.map((mistake) => [era, ...mistake] as const)))(
  "on %o a tool that returns %s fails: its author learns why, the client does not",
  async (era, _, returned, expected) => {
    const reported: Error[] = [];
    const onError = (error: unknown) => {
      reported.push(error as Error);
    };
    // biome-ignore lint/suspicious/noExplicitAny: these are the mistakes that types would catch
    const server = createServer(info, { onError }).tool("t", { run: (): any => returned() });
    const peer = await connect(server, era);
    const { result } = await peer.callTool("t");
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^The tool failed/) }] });
    expect(JSON.stringify(result)).not.toContain("expected");
    expect(reported).toMatchObject([{ code: "invalid-definition" }]);
    expect(reported[0]?.message).toContain(`Tool "t" returned ${expected}`);
  },
);

test.each(eras)("on %o values that look like these are sent", async (era) => {
  class Point {
    x = 1;
    move() {}
  }
  const value = {
    empty: {},
    list: [],
    none: null,
    date: new Date(0),
    point: new Point(),
    bare: Object.create(null),
    left: undefined,
  };
  const server = createServer(info)
    .tool("value", { run: () => value })
    .tool("image", { run: () => [{ type: "image", data: "aW1n", mimeType: "image/png" }] })
    .tool("unknown", { run: () => [{ type: "hologram" } as never] });
  const peer = await connect(server, era);
  const { result } = await peer.callTool("value");
  expect(result.structuredContent).toEqual({
    ...{ empty: {}, list: [], none: null, date: "1970-01-01T00:00:00.000Z", point: { x: 1 }, bare: {} },
  });
  expect((await peer.callTool("image")).result.content).toHaveLength(1);
  expect((await peer.callTool("unknown")).result.content).toEqual([{ type: "hologram" }]);
});
