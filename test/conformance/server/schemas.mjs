// @ts-check
// The schemas that the suite compares field by field.

/** An argument that a client repeats in a header. */
export const place = { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } };

export const account = {
  type: "object",
  properties: {
    username: { type: "string", description: "The name of the user" },
    email: { type: "string", description: "The address of the user" },
  },
  required: ["username", "email"],
};

export const defaults = {
  type: "object",
  properties: {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  },
};

const options = ["option1", "option2", "option3"];
const titled = [
  { const: "value1", title: "First Option" },
  { const: "value2", title: "Second Option" },
  { const: "value3", title: "Third Option" },
];

export const choices = {
  type: "object",
  properties: {
    untitledSingle: { type: "string", enum: options },
    titledSingle: { type: "string", oneOf: titled },
    legacyEnum: {
      type: "string",
      enum: ["opt1", "opt2", "opt3"],
      enumNames: ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti: { type: "array", items: { type: "string", enum: options } },
    titledMulti: { type: "array", items: { anyOf: titled } },
  },
};

export const contact = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};
