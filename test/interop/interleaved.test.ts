import { createMemoryPair, type JsonObject, type RequestId } from "portolan";
import { type Context, createServer, form, serveChannel, ToolError } from "portolan/server";
import { recordChannel, type Transcript } from "portolan/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { passedIn, problemsOf } from "../kit/conversation.ts";
import type { RevisionDate } from "../kit/revisions.ts";
import { RawClient } from "./raw-client.ts";

const calls = 1_000;

const aborted: string[] = [];
const answerForm = form(z.object({ answer: z.string() }));
const marked = z.object({ marker: z.string() });
const turn = () => new Promise((resolve) => setImmediate(resolve));

async function turns(marker: string): Promise<void> {
  for (let left = marker.length % 5; left > 0; left -= 1) await turn();
}

/** Asks the client about the marker: with a form if it supports forms, else with sampling. */
async function ask(marker: string, context: Context): Promise<string> {
  if (context.capabilities.elicitation) {
    const answer = await context.elicit("marker", { message: marker, form: answerForm });
    return answer.action === "accept" ? answer.content.answer : answer.action;
  }
  const messages = [{ role: "user", content: { type: "text", text: marker } }] as const;
  const { content } = await context.sample("marker", { messages: [...messages], maxTokens: 10 });
  return "text" in content ? content.text : "no text";
}

const shared = createServer({ name: "shared", version: "1" })
  .tool("sync", { input: marked, run: ({ marker }, { client }) => `${marker} from ${client?.name}` })
  .tool("async", {
    input: marked,
    run: async ({ marker }, { client }) => {
      await turns(marker);
      return `${marker} from ${client?.name}`;
    },
  })
  .tool("structured", {
    input: marked,
    output: z.object({ marker: z.string(), from: z.string() }),
    run: async ({ marker }, { client }) => ({ marker, from: client?.name ?? "" }),
  })
  .tool("progress", {
    input: z.object({ marker: z.string(), base: z.int() }),
    run: async ({ marker, base }, context) => {
      for (let step = 1; step <= 3; step += 1) {
        context.progress(base + step);
        await turns(marker);
      }
      return marker;
    },
  })
  .tool("log", {
    input: marked,
    run: async ({ marker }, context) => {
      context.log("info", marker);
      await turn();
      context.log("error", marker);
      return marker;
    },
  })
  .tool("fail", {
    input: marked,
    run: async ({ marker }) => {
      await turn();
      throw new ToolError(marker);
    },
  })
  .tool("ask", {
    input: marked,
    run: async ({ marker }, context) => {
      await turns(marker);
      return `${marker} answered ${await ask(marker, context)}`;
    },
  })
  .tool("ask-parked", {
    asks: "park",
    input: marked,
    run: async ({ marker }, context) => {
      const answer = await ask(marker, context);
      await turns(marker);
      return `${marker} answered ${answer}`;
    },
  })
  .tool("hang", {
    input: marked,
    run: ({ marker }, { signal }) =>
      new Promise<string>((_, reject) => {
        signal.addEventListener("abort", () => {
          aborted.push(marker);
          reject(signal.reason);
        });
      }),
  });

const kinds = ["sync", "async", "structured", "progress", "log", "fail", "ask", "ask-parked", "hang"] as const;

const peers = [
  { name: "alpha", version: "2024-11-05", isStateless: false, capabilities: { sampling: {} } },
  { name: "bravo", version: "2025-11-25", isStateless: false, capabilities: { elicitation: {} } },
  { name: "carol", version: "2026-07-28", isStateless: true, capabilities: { elicitation: {} } },
] as const;

/** Returns an answerer that repeats the marker of the question with the client's name. */
function answerAs(name: string): (method: string, params: JsonObject) => JsonObject {
  return (method, params) => {
    if (method === "elicitation/create") {
      return { action: "accept", content: { answer: `${params["message"]} by ${name}` } };
    }
    const [message] = params["messages"] as [{ content: { text: string } }];
    const content = { type: "text", text: `${message.content.text} by ${name}` };
    return { role: "assistant", model: "m", content };
  };
}

/** Shuffles a list in the same way in every run. */
function shuffled<T>(list: T[]): T[] {
  let seed = 42;
  const keyed = list.map((value) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return { value, key: seed };
  });
  return keyed.sort((a, b) => a.key - b.key).map(({ value }) => value);
}

interface PlannedCall {
  client: RawClient;
  kind: (typeof kinds)[number];
  marker: string;
  base: number;
}

function expectedText({ client, kind, marker }: PlannedCall): string {
  if (kind === "sync" || kind === "async") return `${marker} from ${client.name}`;
  if (kind === "structured") return JSON.stringify({ marker, from: client.name });
  if (kind === "ask" || kind === "ask-parked") return `${marker} answered ${marker} by ${client.name}`;
  return marker;
}

test("one server answers 1,000 interleaved calls of three revisions, and no message reaches the wrong client", async () => {
  const servings = [];
  const clients: RawClient[] = [];
  const transcripts: { transcript: Transcript; revision: RevisionDate }[] = [];
  for (const peer of peers) {
    const [near, far] = createMemoryPair({ serialize: true });
    servings.push(serveChannel(shared, far));
    const [channel, transcript] = recordChannel(near);
    transcripts.push({ transcript, revision: peer.version });
    clients.push(new RawClient(channel, { ...peer, answer: answerAs(peer.name) }));
  }
  await Promise.all(clients.map((client) => client.begin()));

  const plan = Array.from({ length: calls }, (_, index): PlannedCall => {
    const client = clients[index % 3]!;
    return {
      client,
      kind: kinds[Math.floor(index / 3) % kinds.length]!,
      marker: `${client.name}-${index}`,
      base: index * 10,
    };
  });
  // All three clients number their requests from 1, so the same ids and progress tokens are in use on each channel.
  const bases = new Map<RawClient, Map<RequestId, number>>(clients.map((client) => [client, new Map()]));
  const hanging: { client: RawClient; marker: string; id: RequestId }[] = [];
  const answered: Promise<unknown>[] = [];
  const problems: string[] = [];
  for (const [index, call] of shuffled(plan).entries()) {
    const { client, kind, marker, base } = call;
    const args = kind === "progress" ? { marker, base } : { marker };
    const result = client.callTool(kind, args, (id) => {
      if (kind === "progress") bases.get(client)?.set(id, base);
      if (kind === "hang") hanging.push({ client, marker, id });
    });
    const check = ({ content, isError = false }: JsonObject) => {
      const [block] = content as { text: string }[];
      if (block?.text !== expectedText(call) || isError !== (kind === "fail"))
        problems.push(`${marker}: ${block?.text}`);
    };
    const done = result.then(check).catch((error: Error) => problems.push(`${marker}: ${error.message}`));
    if (kind !== "hang") answered.push(done);
    if (index % 7 === 0) await turn();
  }
  await Promise.all(answered);
  const ofKind = (kind: string) => plan.filter((call) => call.kind === kind);
  expect(answered).toHaveLength(calls - ofKind("hang").length);

  expect(problems).toEqual([]);
  expect(aborted).toEqual([]);
  for (const { client, id } of hanging) client.notify("notifications/cancelled", { requestId: id });
  await Promise.all(servings.map((serving) => serving.idle()));
  expect(aborted.sort()).toEqual(
    ofKind("hang")
      .map(({ marker }) => marker)
      .sort(),
  );

  expect(problems).toEqual([]);

  for (const client of clients) {
    const own = plan.filter((call) => call.client === client);
    const count = (...wanted: string[]) => own.filter(({ kind }) => wanted.includes(kind)).length;
    expect(client.strays).toEqual([]);
    const others = clients.filter((other) => other !== client).map(({ name }) => name);
    const leaks = client.received.filter((message) => others.some((name) => JSON.stringify(message).includes(name)));
    expect(leaks).toEqual([]);

    const progress = client.notifications.filter(({ method }) => method === "notifications/progress");
    expect(progress).toHaveLength(3 * count("progress"));
    for (const { params } of progress) {
      const base = bases.get(client)?.get(params?.["progressToken"] as RequestId);
      expect(Math.floor((params?.["progress"] as number) / 10) * 10).toBe(base);
    }
    const logs = client.notifications.filter(({ method }) => method === "notifications/message");
    expect(logs).toHaveLength(2 * count("log"));
    expect(client.notifications).toHaveLength(progress.length + logs.length);
    expect(client.questions).toHaveLength(count("ask", "ask-parked"));
  }
  const [alpha, bravo, carol] = clients;
  expect(new Set(alpha?.questions.map(({ method }) => method))).toEqual(new Set(["sampling/createMessage"]));
  expect(new Set(bravo?.questions.map(({ method }) => method))).toEqual(new Set(["elicitation/create"]));
  // A stateless client never receives a request.
  expect(carol?.received.filter((message) => "method" in message && "id" in message)).toEqual([]);

  await Promise.all(clients.map((client) => client.close()));
  await Promise.all(servings.map((serving) => serving.closed));
  for (const { transcript, revision } of transcripts) {
    expect(problemsOf(passedIn(transcript.lines, revision), "server")).toEqual([]);
  }
});
