import { expect, test } from "vitest";
import { secretFieldsOf } from "./forms.ts";

function fieldsOf(properties: { [name: string]: { title?: string; description?: string } }): string[] {
  const typed = Object.entries(properties).map(([name, field]) => [name, { type: "string" as const, ...field }]);
  return secretFieldsOf({ message: "", requestedSchema: { type: "object", properties: Object.fromEntries(typed) } });
}

test.each([
  ["password", {}],
  ["userPassword", {}],
  ["user_passwd", {}],
  ["pin", {}],
  ["apiKey", {}],
  ["API_KEY", {}],
  ["value", { title: "Your ｐａｓｓｗｏｒｄ" }],
  ["x", { description: "The one-time code that we have sent to you" }],
  ["y", { description: "Your credit card number" }],
  ["token", {}],
  ["accessToken", {}],
  ["smsOTP2fa", { title: "2FA" }],
  ["mnemonic", {}],
])("%s asks for a secret", (name, field) => {
  expect(fieldsOf({ [name]: field })).toEqual([name]);
});

test("ordinary fields do not", () => {
  const names = ["name", "pinned", "tokens", "compass", "keyboard", "shipping", "secretary", "spinner"];
  expect(fieldsOf(Object.fromEntries(names.map((name) => [name, {}])))).toEqual([]);
});
