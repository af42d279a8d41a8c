import { expect, test } from "vitest";
import { numberNode, stringNode } from "./document.ts";
import { EditedDocument } from "./edited-document.ts";

const schema = {
  type: "object",
  required: ["from"],
  properties: {
    from: { type: "string" },
    stops: { type: "integer", maximum: 3 },
    budget: { type: ["number", "null"] },
  },
};

test("text that was typed stays as it is until the form changes it", () => {
  const text = '{ "from":"OSL",   "x-trace": 12345678901234567890 }';
  const edited = new EditedDocument(schema, { text });
  expect(edited.text).toBe(text);
  edited.set(["stops"], numberNode("1"), ["from", "stops"]);
  expect(edited.text).toBe('{\n  "from": "OSL",\n  "stops": 1,\n  "x-trace": 12345678901234567890\n}');
});

test("an error in the text keeps the last value, and the form repairs it", () => {
  const edited = new EditedDocument(schema, { text: '{"from": "OSL"}' });
  edited.type('{"from": ');
  expect(edited.error.value).toMatchObject({ line: 1, column: 10 });
  expect(edited.at(["from"])).toMatchObject({ value: "OSL" });
  edited.set(["from"], stringNode("BCN"));
  expect(edited.error.value).toBeUndefined();
  expect(edited.text).toBe('{\n  "from": "BCN"\n}');
});

test("a number that is still being typed cannot be sent, and is a problem of its field", () => {
  const edited = new EditedDocument(schema, { text: '{"from": "OSL"}' });
  edited.set(["stops"], numberNode("1e"));
  expect(edited.problems.value).toEqual([{ path: ["stops"], message: "needs a whole number, found 1e" }]);
  expect(edited.unsendable()).toMatchObject({ message: "1e is not a JSON number." });
});

test("problems follow both views", () => {
  const edited = new EditedDocument(schema);
  expect(edited.problems.value).toEqual([{ path: ["from"], message: "is needed", isMissing: true }]);
  edited.type('{"from": "OSL", "stops": 4}');
  expect(edited.problems.value.map(({ message }) => message)).toEqual(["needs at most 3, found 4"]);
});
