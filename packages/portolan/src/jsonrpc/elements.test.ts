import { expect, test } from "vitest";
import { elementsOf } from "./elements.ts";

test.each([
  ["[]", []],
  [" [ ] ", []],
  ["{}", []],
  ["[1, 12345678901234567890 ,[2,3],{}]", ["1", "12345678901234567890", "[2,3]", "{}"]],
  ['[ "a,]}\\"," , {"b":[1,{"c":"}"}]} ]', ['"a,]}\\","', '{"b":[1,{"c":"}"}]}']],
  ['{"a" : 1.00,\n"b":{"a":[]}}', ['"a" : 1.00', '"b":{"a":[]}']],
])("the elements of %j are found without parsing them", (text, elements) => {
  JSON.parse(text);
  expect(elementsOf(text)).toEqual(elements);
});
