import { mkdir, rm } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createServer } from "portolan/server";
import { createClock } from "portolan/testing";
import type {
  FormAnswer,
  FormQuestion,
  HostAnswers,
  HostOptions,
  RootsQuestion,
  SamplingQuestion,
  SamplingVerdict,
  UrlQuestion,
} from "portolan-host";
import { echoModel, type Model } from "portolan-host/models";
import { describe, expect, test, vi } from "vitest";
import { between, revisions } from "../kit/revisions.ts";
import { inMemory, makeFolder, makeHost, textOf } from "./kit.ts";

const asker = createServer({ name: "asker", version: "1.0.0" })
  .tool("ask_name", {
    async run(_, ctx) {
      const answer = await ctx.elicit<{ name?: string; age?: number }>("name", {
        message: "Who are you?",
        form: {
          type: "object",
          properties: { name: { type: "string", minLength: 2 }, age: { type: "integer", default: 30 } },
          required: ["name"],
        },
      });
      return JSON.stringify(answer);
    },
  })
  .tool("ask_password", {
    async run(_, ctx) {
      const answer = await ctx.elicit("login", {
        message: "Sign in to go on",
        form: {
          type: "object",
          properties: { user: { type: "string" }, apiKey: { type: "string" } },
        },
      });
      return JSON.stringify(answer);
    },
  })
  .tool("send_away", {
    input: { type: "object", properties: { url: { type: "string" } }, required: ["url"] },
    run: async ({ url }: { url: string }, ctx) => (await ctx.openUrl("page", { message: "Look here", url })).action,
  })
  .tool("think", {
    input: { type: "object", properties: { tokens: { type: "integer" }, hint: { type: "string" } } },
    async run({ tokens = 100, hint }: { tokens?: number; hint?: string }, ctx) {
      const { content, model } = await ctx.sample("thought", {
        messages: [{ role: "user", content: { type: "text", text: "secret of the server" } }],
        maxTokens: tokens,
        ...(hint !== undefined && { modelPreferences: { hints: [{ name: hint }] } }),
      });
      return `${model}: ${"text" in content ? content.text : "?"}`;
    },
  })
  .tool("has-roots", { run: (_, ctx) => String(ctx.mayAsk("roots")) })
  .tool("where", { run: async (_, ctx) => JSON.stringify(await ctx.roots("roots")) });

async function host(answers: HostAnswers, options: HostOptions = {}, era?: string) {
  const settings = era === undefined ? {} : { era };
  return makeHost({ servers: { asker: inMemory(asker, settings) }, policy: [{ then: "allow" }], answers, ...options });
}

describe.each(between("2025-06-18", "2026-07-28"))("forms on %s", (revision) => {
  test("are answered by the user, checked, and completed with defaults", async () => {
    const asked: FormQuestion[] = [];
    const elicit = (question: FormQuestion): FormAnswer => {
      asked.push(question);
      return { action: "accept", content: { name: "Ada" } };
    };
    const { callTool } = toolsOf(await host({ elicit }, {}, revision));
    // spec 2025-06-18: forms have no defaults for numbers.
    const content = revision === "2025-06-18" ? { name: "Ada" } : { name: "Ada", age: 30 };
    expect(JSON.parse(textOf(await callTool("ask_name")))).toEqual({ action: "accept", content });
    expect(asked[0]).toMatchObject({
      kind: "elicit",
      server: "asker",
      params: { message: "Who are you?" },
      secretFields: [],
    });
  });

  test.each(["decline", "cancel"] as const)("can be answered with %s", async (action) => {
    const { callTool } = toolsOf(await host({ elicit: () => ({ action }) }, {}, revision));
    expect(textOf(await callTool("ask_name"))).toBe(`{"action":"${action}"}`);
  });

  test("with secret fields carry a warning, and are answered only with sendSecrets", async () => {
    let sendSecrets = false;
    const warned: (readonly string[])[] = [];
    const elicit = ({ secretFields }: FormQuestion): FormAnswer => {
      warned.push(secretFields);
      return { action: "accept", content: { user: "ada", apiKey: "k-123" }, sendSecrets };
    };
    const made = await host({ elicit }, {}, revision);
    const { callTool } = toolsOf(made);
    expect(textOf(await callTool("ask_password"))).toBe('{"action":"decline"}');
    sendSecrets = true;
    expect(textOf(await callTool("ask_password"))).toContain("k-123");
    expect(warned).toEqual([["apiKey"], ["apiKey"]]);
  });
});

test("an answer that does not fit its form fails the call", async () => {
  const { callTool } = toolsOf(await host({ elicit: () => ({ action: "accept", content: { name: "A" } }) }));
  await expect(callTool("ask_name")).rejects.toThrow();
});

describe("URLs to open", () => {
  const visited: UrlQuestion[] = [];
  const visit = (question: UrlQuestion) => {
    visited.push(question);
    return { action: "accept" } as const;
  };

  test.each(between("2025-11-25", "2026-07-28"))("are shown complete, with warnings, on %s", async (revision) => {
    visited.length = 0;
    const { callTool } = toolsOf(await host({ openUrl: visit }, {}, revision));
    expect(textOf(await callTool("send_away", { url: "https://xn--pple-43d.com/login?next=/a" }))).toBe("accept");
    expect(visited[0]?.address).toMatchObject({ href: "https://xn--pple-43d.com/login?next=/a", isPunycode: true });
    expect(visited[0]?.address.warnings.length).toBeGreaterThan(0);
  });

  test("that are not safe are declined without asking the user", async () => {
    visited.length = 0;
    const { callTool } = toolsOf(await host({ openUrl: visit }));
    expect(textOf(await callTool("send_away", { url: "http://example.com/" }))).toBe("decline");
    expect(textOf(await callTool("send_away", { url: "https://user:pw@example.com/" }))).toBe("decline");
    expect(visited).toEqual([]);
  });
});

describe.each(revisions)("sampling on %s", (revision) => {
  test("lets the user edit the request and the response", async () => {
    const seen: SamplingQuestion[] = [];
    const sample = (question: SamplingQuestion): SamplingVerdict => {
      seen.push(question);
      if (question.stage === "request") {
        const messages = [{ role: "user" as const, content: { type: "text" as const, text: "said by the user" } }];
        return { allow: true, params: { ...question.params, messages } };
      }
      return { allow: true, result: { ...question.result, content: { type: "text", text: "edited" } } };
    };
    const made = await host({ sample }, { model: echoModel() }, revision);
    expect(textOf(await toolsOf(made).callTool("think"))).toBe("echo: edited");
    expect(seen.map(({ stage }) => stage)).toEqual(["request", "response"]);
    expect(seen[0]).toMatchObject({
      stage: "request",
      server: "asker",
      model: { id: "echo" },
      left: { requests: 999 },
    });
    expect(JSON.stringify(seen[1])).toContain("said by the user");
    const steps: unknown[] = [];
    for await (const { step } of made.activity.query({ kinds: ["sampling"] })) steps.push(step);
    expect(steps).toEqual(["allowed", "asked", "allowed", "answered"]);
  });

  test("is refused when the user denies the request or the response", async () => {
    for (const stage of ["request", "response"] as const) {
      const made = await host({ sample: (question) => question.stage !== stage }, { model: echoModel() }, revision);
      await expect(toolsOf(made).callTool("think")).rejects.toThrow("Sampling was refused");
    }
  });
});

test("sampling fails without a model or without a reviewer", async () => {
  for (const options of [{}, { model: echoModel() }]) {
    const made = await host(options.model ? {} : { sample: () => true }, options);
    const result = await toolsOf(made)
      .callTool("think")
      .catch((error) => ({ isError: true, error }));
    expect(result.isError).toBe(true);
  }
});

test("the server's hints choose the model, and the user may choose another", async () => {
  const models: Model[] = [
    { ...echoModel(), id: "small" },
    { ...echoModel(), id: "large" },
  ];
  const chosen: string[] = [];
  const sample = (question: SamplingQuestion): SamplingVerdict => {
    if (question.stage === "request") chosen.push(question.model.id);
    return { allow: true, model: "small" };
  };
  const { callTool } = toolsOf(await host({ sample }, { model: models }));
  await callTool("think", { hint: "large" });
  expect(chosen).toEqual(["large"]);
});

test("a server cannot exceed its sampling limits for requests and tokens", async () => {
  const requested: number[] = [];
  const sample = (question: SamplingQuestion): SamplingVerdict => {
    if (question.stage === "request") requested.push(question.params.maxTokens);
    return { allow: true };
  };
  const sampling = { requestsPerMinute: 100, servers: { asker: { requests: 2, maxTokens: 50 } } };
  const made = await host({ sample }, { model: echoModel(), sampling });
  const { callTool } = toolsOf(made);
  await callTool("think", { tokens: 10_000 });
  await callTool("think");
  expect(requested).toEqual([50, 50]);
  await expect(callTool("think")).rejects.toThrow("this server may use no more than 2 requests");
  expect(requested).toHaveLength(2);
  const refused: unknown[] = [];
  for await (const entry of made.activity.query({ kinds: ["sampling"], text: "refused" })) refused.push(entry["why"]);
  expect(refused).toEqual(["this server may use no more than 2 requests"]);
});

test("sampling can be allowed for the session, and the grant can be revoked", async () => {
  let count = 0;
  const sample = (): SamplingVerdict => {
    count += 1;
    return { allow: true, for: "session" };
  };
  const made = await host({ sample }, { model: echoModel() });
  const { callTool } = toolsOf(made);
  await callTool("think");
  await callTool("think");
  expect(count).toBe(2);
  const [grant] = made.grants.list();
  expect(grant).toMatchObject({ kind: "sampling", server: "asker" });
  await made.grants.revoke(grant!.id);
  await callTool("think");
  expect(count).toBe(4);
});

describe.each(revisions)("roots on %s", (revision) => {
  test("are listed for their own server, and for another server only if the user agrees", async () => {
    const asked: RootsQuestion[] = [];
    const roots = (question: RootsQuestion) => {
      asked.push(question);
      return { allow: true, roots: question.roots.slice(0, 1) };
    };
    const [given, requested, refused, elsewhere] = await makeRoots(4);
    const made = await host(
      { roots },
      {
        roots: [
          { uri: given!, for: ["asker"] },
          { uri: requested!, name: "requested" },
          { uri: refused! },
          { uri: elsewhere!, for: ["somebody"] },
        ],
      },
      revision,
    );
    const { callTool } = toolsOf(made);
    const both = [{ uri: given }, { uri: requested, name: "requested" }];
    expect(JSON.parse(textOf(await callTool("where")))).toEqual(both);
    expect(JSON.parse(textOf(await callTool("where")))).toEqual(both);
    expect(asked.map((question) => question.roots.map(({ uri }) => uri))).toEqual([[requested, refused, elsewhere]]);
    await made.setRoots([{ uri: elsewhere!, for: ["asker"] }]);
    expect(JSON.parse(textOf(await callTool("where")))).toEqual([{ uri: elsewhere }]);
  });
});

async function makeRoots(count: number): Promise<string[]> {
  const folders = await Promise.all(Array.from({ length: count }, () => makeFolder()));
  return folders.map((folder) => pathToFileURL(folder).href);
}

test("a host without roots does not declare the roots capability", async () => {
  const { callTool } = toolsOf(await host({}));
  expect(textOf(await callTool("has-roots"))).toBe("false");
});

test("a host that cannot ask exposes no root that is not assigned to the server", async () => {
  const [uri = ""] = await makeRoots(1);
  const { callTool } = toolsOf(await host({}, { roots: [{ uri }] }));
  expect(textOf(await callTool("where"))).toBe("[]");
});

test("a root whose folder is deleted and created again is listed only while it exists", async () => {
  const [uri = ""] = await makeRoots(1);
  const listener = createServer({ name: "listener", version: "1.0.0" }).tool("where", {
    run: async (_, ctx) => JSON.stringify(await ctx.roots("roots")),
  });
  const clock = createClock();
  const made = await makeHost({
    clock,
    servers: { asker: inMemory(listener, { era: "2025-11-25" }) },
    policy: [{ then: "allow" }],
    roots: [{ uri, for: ["asker"] }],
  });
  const where = async () => textOf(await made.callTool("asker", "where"));
  expect(await where()).toContain(uri);
  await rm(fileURLToPath(uri), { recursive: true });
  await vi.waitFor(async () => {
    await clock.advance(1_000);
    expect(await where()).toBe("[]");
  });
  await mkdir(fileURLToPath(uri));
  await vi.waitFor(async () => {
    await clock.advance(1_000);
    expect(await where()).toContain(uri);
  });
});

test("a question of a server during a run is an event of the run", async () => {
  const model: Model = {
    id: "caller",
    capabilities: { tools: true, images: false },
    async *stream({ messages }) {
      if (messages.length === 1) yield { type: "tool", id: "1", name: "asker__ask_name", input: {} };
      yield { type: "end", stopReason: messages.length === 1 ? "toolUse" : "endTurn", model: "caller" };
    },
  };
  const made = await host({ elicit: "later" }, { model });
  const types: string[] = [];
  for await (const event of made.run("ask")) {
    types.push(event.type);
    if (event.type === "question") {
      made.answer(event.question.id, { action: "accept", content: { name: "Grace" } });
    }
  }
  expect(types).toEqual(["context", "tool", "question", "tool", "context", "done"]);
});

function toolsOf(made: Awaited<ReturnType<typeof makeHost>>) {
  return { callTool: (name: string, args: { [name: string]: unknown } = {}) => made.callTool("asker", name, args) };
}
