import { describe, expect, test } from "vitest";
import type { ServerRecord } from "../../api.ts";
import { nameFrom, parseKeptPairs, parsePairs } from "../shell/add-server.tsx";
import { argumentsLine, membersOf } from "./arguments.tsx";
import { fuzzyMatch } from "./match.ts";
import { dataOf, isShort, tableOf } from "./result.tsx";
import { sentencesAfter } from "./sentences.ts";
import { suggestionsFor } from "./suggestions.ts";
import { expandTemplate, variablesOf } from "./templates.ts";
import { countText, durationText, waitText } from "./times.ts";

test("arguments keep the digits of their numbers", () => {
  expect(membersOf('{"id":12345678901234567890,"name":"a"}')).toEqual([
    ["id", "12345678901234567890"],
    ["name", '"a"'],
  ]);
  expect(membersOf("[1]")).toBeUndefined();
  expect(argumentsLine('{"from":"OSL","days":[1,2]}')).toBe("from: OSL, days: [1, 2]");
});

describe("a result", () => {
  test("is a table if one member has rows", () => {
    const content: never[] = [];
    const rows = [{ id: 1 }, { id: 2, name: "b" }];
    expect(tableOf({ content, structuredContent: { rows, total: 2 } })).toEqual({
      columns: ["id", "name"],
      rows,
      from: "rows",
    });
    expect(tableOf({ content, structuredContent: { one: rows, two: rows } })).toBeUndefined();
    expect(tableOf({ content, structuredContent: { rows: [1, 2] } })).toBeUndefined();
  });

  test("of a server that gives data as text is a table, too, if no number would lose digits", () => {
    const asText = (text: string) => ({ content: [{ type: "text" as const, text }] });
    const rows = [{ id: 1 }, { id: 2 }];
    expect(tableOf(asText(JSON.stringify({ rows })))).toEqual({ columns: ["id"], rows, from: "rows" });
    expect(tableOf(asText('[{"id":12345678901234567890}]'))).toBeUndefined();
    expect(dataOf(asText('[{"id":12345678901234567890}]'))).toContain("12345678901234567890");
    expect(dataOf(asText("[not JSON"))).toBeUndefined();
    expect(dataOf({ content: [...asText("[1]").content, ...asText("[2]").content] })).toBeUndefined();
  });

  test("is short if a person sees it at a glance", () => {
    expect(isShort({ content: [{ type: "text", text: "done" }] })).toBe(true);
    expect(isShort({ content: [{ type: "text", text: "x".repeat(1_000) }] })).toBe(false);
  });
});

test("whole sentences are said, without the marks of Markdown, and each once", () => {
  const text = "It is **3**. See [this](https://example.com). And then";
  const first = sentencesAfter(text, 0);
  expect(first.text).toBe("It is 3. See this.");
  expect(sentencesAfter(text, first.end)).toEqual({ text: "", end: first.end });
  expect(sentencesAfter(`${text} more.\n`, first.end).text).toBe("And then more.");
});

test("a search finds the start of words before other places", () => {
  const names = ["explain_paper", "plan_trip", "packing_list"];
  const score = (name: string) => fuzzyMatch("plp", name)?.score ?? Number.NEGATIVE_INFINITY;
  expect(fuzzyMatch("plp", "nothing")).toBeUndefined();
  expect(fuzzyMatch("trip", "plan_trip")?.at).toEqual([5, 6, 7, 8]);
  expect([...names].sort((a, b) => score(b) - score(a))[0]).toBe("plan_trip");
});

test("templates take values, and encode what an address may not contain", () => {
  const template = "travel://cities/{city}/events{?day,page}";
  expect(variablesOf(template)).toEqual(["city", "day", "page"]);
  expect(expandTemplate(template, { city: "São Paulo/1", day: "1" })).toBe(
    "travel://cities/S%C3%A3o%20Paulo%2F1/events?day=1",
  );
  expect(expandTemplate("file:///{+path}", { path: "a/b c" })).toBe("file:///a/b%20c");
  expect(expandTemplate("x:{a}", { a: "\ud800" })).toBe("x:%EF%BF%BD");
});

test("times and counts have units", () => {
  expect([durationText(84), durationText(840), durationText(4_200), durationText(12_400)]).toEqual([
    "0.08 s",
    "0.84 s",
    "4.2 s",
    "12 s",
  ]);
  expect([durationText(185_000), waitText(8_900)]).toEqual(["3:05", "0:08"]);
  expect([countText(1, "token"), countText(1_204, "token")]).toEqual(["1 token", "1,204 tokens"]);
});

test("a server without a name gets one from its target", () => {
  expect(nameFrom("npx -y @scope/mcp-server-files /tmp")).toBe("files");
  expect(nameFrom("node ./servers/weather.js")).toBe("weather");
  expect(nameFrom("https://mcp.example.com/mcp")).toBe("example");
  expect(nameFrom("  ")).toBe("");
  expect(parsePairs("A=1\nB = two=2\nnothing", "=")).toEqual({ A: "1", B: "two=2" });
  expect(parseKeptPairs("A=1\n\n B \n=x", "=")).toEqual({ A: "1", B: null });
});

test("suggestions name only servers that are there", () => {
  const server = (name: string) => ({ name }) as ServerRecord;
  const given = { catalogs: [], isDemo: true, today: new Date("2026-11-19") };
  const weather = suggestionsFor({ ...given, isSandbox: true, servers: [server("weather")] });
  expect(weather.map(({ from }) => from)).toEqual([["weather"]]);
  const others = suggestionsFor({ ...given, isSandbox: false, servers: [server("db")] });
  expect(others.map(({ title }) => title)).toEqual(["What can you do here?"]);
});
