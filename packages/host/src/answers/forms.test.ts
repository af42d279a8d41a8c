import { createClock } from "portolan/testing";
import { expect, test } from "vitest";
import { createRates, secretFieldsOf } from "./forms.ts";

function fieldsOf(properties: { [name: string]: object }, message = ""): string[] {
  const typed = Object.entries(properties).map(([name, field]) => [name, { type: "string" as const, ...field }]);
  return secretFieldsOf({ message, requestedSchema: { type: "object", properties: Object.fromEntries(typed) } });
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
  ["recoveryCode", {}],
  ["v", { format: "password" }],
  ["pass\u200bword", {}],
  ["v", { title: "Your pаsswоrd" }],
  ["v", { title: "Your p a s s w o r d" }],
  ["v", { title: "p.a.s.s.w.o.r.d" }],
  ["v", { title: "passw0rd" }],
  ["v", { title: "Your P1N" }],
  ["v", { description: `${"All is well. ".repeat(500)}Your password` }],
  ["v", { title: "Mot de passe" }],
  ["v", { title: "Kennwort" }],
  ["contrasena", {}],
  ["v", { title: "Hasło" }],
  ["v", { title: "Şifreniz" }],
  ["v", { title: "Ваш пароль" }],
  ["v", { title: "密码" }],
  ["v", { title: "パスワード" }],
  ["v", { title: "비밀번호" }],
  ["v", { title: "كلمة المرور" }],
])("the field %s asks for a secret", (name, field) => {
  expect(fieldsOf({ [name]: field })).toEqual([name]);
});

test("ordinary fields do not ask for a secret", () => {
  const names = ["name", "pinned", "tokens", "compass", "keyboard", "shipping", "secretary", "spinner"];
  names.push("palabraClave", "p", "boarding pass", "haslof", "code", "postcode", "model 5e", "3rd", "$cost");
  expect(fieldsOf(Object.fromEntries(names.map((name) => [name, {}])))).toEqual([]);
});

test("a message that asks for a secret makes every free text field secret, unless one field is named", () => {
  const fields = { value: {}, colour: { enum: ["red"] }, isSure: { type: "boolean" } };
  for (const message of [
    "Enter your p\u00adassword to go on.",
    "Please type the API key here",
    "Geben Sie Ihr Kennwort ein",
  ]) {
    expect(fieldsOf(fields, message)).toEqual(["value"]);
    expect(fieldsOf({ ...fields, secret: {} }, message)).toEqual(["secret"]);
  }
  expect(fieldsOf(fields, "What colour should the secret door have?")).toEqual([]);
});

test("each server has its own rate, and the first request beyond it is reported", async () => {
  const clock = createClock();
  const rateOf = createRates(2, clock);
  const take = (server: string, times: number) => Array.from({ length: times }, () => rateOf(server).take());
  expect(take("a", 4)).toEqual(["allowed", "allowed", "first-refused", "refused"]);
  expect(take("b", 1)).toEqual(["allowed"]);
  await clock.advance(60_000);
  expect(take("a", 3)).toEqual(["allowed", "allowed", "first-refused"]);
});

test("an invalid rate is refused", () => {
  expect(() => createRates(Number.NaN, createClock())).toThrow("questionsPerMinute: expected a number");
});
