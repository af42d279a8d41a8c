import { expect, test } from "vitest";
import { type FindEntry, findEntries } from "./found.ts";

const entries = ["search_flights", "search_rooms", "hold_seat", "searchFlights", "close_account"].map(
  (name): FindEntry => ({ kind: "tool", id: name, name, from: "travel" }),
);
const names = (text: string) => findEntries(entries, text).map(({ entry }) => entry.name);

test.each([
  ["sear", ["search_rooms", "searchFlights", "search_flights"]],
  ["seat", ["hold_seat"]],
  ["sf", ["searchFlights", "search_flights"]],
  ["travel seat", ["hold_seat"]],
  ["zzz", []],
  ["", []],
])("%j finds %j", (text, expected) => {
  expect(
    names(text)
      .filter((name) => expected.length === 0 || expected.includes(name))
      .sort(),
  ).toEqual([...expected].sort());
});

test("a word that begins with the text comes before one that has it inside", () => {
  expect(names("se")[0]).toMatch(/^search/);
});

test("the places of the letters are told", () => {
  expect(findEntries(entries, "seat")[0]?.hits).toEqual([5, 6, 7, 8]);
});

test("5,000 entries are searched in one go, and at most 60 are given", () => {
  const many = Array.from(
    { length: 5_000 },
    (_, at): FindEntry => ({ kind: "tool", id: `${at}`, name: `tool_${at}`, from: "big" }),
  );
  expect(findEntries(many, "tool")).toHaveLength(60);
});
