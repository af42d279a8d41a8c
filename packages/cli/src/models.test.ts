import { complete } from "portolan-host/models";
import { startFakeProvider } from "portolan-host/models/fake";
import { expect, test } from "vitest";
import { chooseModel } from "./models.ts";

test.each([
  [{}, undefined, "demo"],
  [{ ANTHROPIC_API_KEY: "k" }, undefined, "claude-sonnet-4-5"],
  [{ ANTHROPIC_API_KEY: "k", ANTHROPIC_MODEL: "claude-x", OPENAI_API_KEY: "k" }, undefined, "claude-x"],
  [{ OPENAI_API_KEY: "k" }, undefined, "gpt-5-mini"],
  [{ OPENAI_BASE_URL: "http://127.0.0.1:11434/v1", OPENAI_MODEL: "llama3.2" }, undefined, "llama3.2"],
  [{ ANTHROPIC_API_KEY: "k", PORTOLAN_MODEL: "demo" }, undefined, "demo"],
  [{ ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k" }, "openai:gpt-x", "gpt-x"],
  [{ ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k" }, "gpt-x", "gpt-x"],
  [{ ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k" }, "claude-y", "claude-y"],
  [{ PORTOLAN_MODEL: "gpt-x", OPENAI_API_KEY: "k" }, "demo", "demo"],
])("with %j and %s chooses the model %s", (env, named, id) => {
  expect(chooseModel(env, named).id).toBe(id);
});

test.each([
  [{}, "gpt-x", "no API key is set"],
  [{}, "anthropic:claude-x", "needs an API key"],
  [{ ANTHROPIC_API_KEY: "k" }, "openai:gpt-x", "needs an API key"],
])("with %j refuses %s and gives the reason", (env, named, reason) => {
  expect(() => chooseModel(env, named)).toThrow(reason);
});

test.each(["anthropic", "openai"] as const)(
  "sends requests of %s to the base URL in the environment",
  async (dialect) => {
    await using provider = await startFakeProvider({ dialect, apiKey: "secret-key", turns: [{ say: "Hello." }] });
    const name = dialect.toUpperCase();
    // Each vendor's own libraries read the variable like this: with `/v1` for one, without it for the other.
    const address = dialect === "anthropic" ? provider.url.replace(/\/v1$/, "") : provider.url;
    const model = chooseModel({
      [`${name}_API_KEY`]: "secret-key",
      [`${name}_BASE_URL`]: address,
      [`${name}_MODEL`]: "some-model",
    });
    const messages = [{ role: "user" as const, content: { type: "text" as const, text: "Hi" } }];
    const { content } = await complete(model, { messages, maxTokens: 100 });
    expect(content).toEqual([{ type: "text", text: "Hello." }]);
    expect(provider.requests[0]?.body["model"]).toBe("some-model");
  },
);

test.each([
  [{ OPENAI_BASE_URL: "somewhere" }, "OPENAI_BASE_URL: expected a URL such as https://api.example.com/v1"],
  [
    { OPENAI_BASE_URL: "http://far.example/v1" },
    /^OPENAI_BASE_URL: expected https, got plain http to far\.example.*; use https$/,
  ],
  [{ OPENAI_BASE_URL: "https://me:pw@far.example/v1" }, /^OPENAI_BASE_URL: .* \(far\.example\); set OPENAI_API_KEY$/],
  [{ ANTHROPIC_API_KEY: "ke\ny" }, /^ANTHROPIC_API_KEY: expected a header without line breaks/],
])("names the variable that is wrong in %j", (env, message) => {
  expect(() => chooseModel(env)).toThrow(message);
});
