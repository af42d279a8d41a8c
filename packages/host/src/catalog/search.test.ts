import { expect, test } from "vitest";
import { Index, search, wordsOf } from "./search.ts";

function indexOf(texts: { readonly [name: string]: string }): Index<string> {
  const index = new Index<string>();
  for (const [name, text] of Object.entries(texts)) index.add(name, { name, text });
  return index;
}

const namesOf = (indexes: readonly Index<string>[], query: string, limit = 10) =>
  search(indexes, query, limit).map(({ item }) => item);

test("words of the name weigh more than words of the text", () => {
  const index = indexOf({ note: "sends mail", mail: "sends a note" });
  expect(namesOf([index], "mail")).toEqual(["mail", "note"]);
});

test("rare words weigh more than frequent ones, across all indexes", () => {
  const indexes = [indexOf({ a: "read file", b: "read line" }), indexOf({ c: "read calendar" })];
  expect(namesOf(indexes, "read calendar")[0]).toBe("c");
});

test("items without any word of the query are not returned, and the limit applies", () => {
  const index = indexOf({ a: "one", b: "one", c: "two" });
  expect(namesOf([index], "three")).toEqual([]);
  expect(namesOf([index], "one", 1)).toHaveLength(1);
});

test("spelling and endings do not matter", () => {
  expect(wordsOf("listOpenIssues")).toEqual(wordsOf("list_open_issue"));
  expect(wordsOf("Queries, boxes")).toEqual(["query", "box"]);
});
