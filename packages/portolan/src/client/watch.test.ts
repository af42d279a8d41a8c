import { describe, expect, test } from "vitest";
import { supportedFilter } from "./watch.ts";

describe("the filter of a watch", () => {
  const capabilities = { tools: { listChanged: true }, prompts: {}, resources: { subscribe: true } };

  test("is reduced to the changes that the server reports, each URI once", () => {
    const filter = { tools: true, prompts: true, resources: true, uris: ["file:///a", "file:///a"] };
    expect(supportedFilter(filter, capabilities)).toEqual({ tools: true, uris: ["file:///a"] });
  });

  test("is refused if the server reports none of its changes", () => {
    expect(() => supportedFilter({ prompts: true }, capabilities)).toThrow(
      "watch: the server does not report changes of prompts",
    );
  });

  test("is refused if it names nothing", () => {
    expect(() => supportedFilter({}, capabilities)).toThrow(
      "watch: expected at least one of tools, prompts, resources",
    );
  });

  test.each([
    ["tool", "tools"],
    ["uri", "uris"],
  ])("is refused if it has the unknown member %s", (wrong, right) => {
    expect(() => supportedFilter({ [wrong]: true } as object, capabilities)).toThrow(
      `watch: unknown option \`${wrong}\`; did you mean \`${right}\`?`,
    );
  });
});
