import { type Answer, plainHeaders, send, toInitialize, toNotification, toRequest } from "../../http/kit.ts";
import { openOld } from "../../http/old-peer.ts";
import { begin, type SessionPeer, StatelessPeer, toHeaders } from "../../http/peer.ts";
import { isStateless, type RevisionDate } from "../../kit/revisions.ts";

const greeting = { action: "accept", content: { name: "Ada" } };
const elicitation = { elicitation: {} };

/** Uses every feature of a revision's HTTP transport once, one after the other. */
export async function playServerScenario(url: string, revision: RevisionDate): Promise<void> {
  if (isStateless(revision)) await playStateless(url);
  else if (revision === "2024-11-05") await playHttpSse(url, revision);
  else await playSession(url, revision);
}

async function playHttpSse(url: string, revision: RevisionDate): Promise<void> {
  const peer = await openOld(url);
  await peer.initialize(revision, { sampling: {} });
  await peer.request("ping", undefined, 2);
  await peer.request("tools/call", { name: "echo", arguments: { message: "hi" } }, 3);
  await peer.post(toRequest("tools/call", progressCall, 4));
  await untilResponse(peer.stream, 4);
  await peer.post(toRequest("tools/call", { name: "ask_model" }, 5));
  const question = await peer.next();
  const content = { type: "text", text: "Hello" };
  await peer.post({ jsonrpc: "2.0", id: question.id, result: { role: "assistant", model: "tiny", content } });
  await untilResponse(peer.stream, 5);
  await peer.request("resources/subscribe", { uri: "note://a" }, 6);
  await peer.post(toRequest("tools/call", { name: "change" }, 7));
  await untilChanged(peer.stream);
  await read(await peer.post("{"));
  await peer.request("no/such/method", undefined, 8);
  await read(await send(`${peer.url}x`, { body: toRequest("ping") }));
  peer.stream.drop();
}

const progressCall = { name: "progress", arguments: { steps: 2 }, _meta: { progressToken: "p1" } };

async function playSession(url: string, revision: RevisionDate): Promise<void> {
  const capabilities = revision < "2025-06-18" ? { sampling: {} } : elicitation;
  const peer = await begin(url, revision, { capabilities });
  const stream = await peer.get();
  await read(await peer.request("ping", undefined, 2));
  await read(await peer.request("tools/call", { name: "echo", arguments: { message: "hi" } }, 3));
  await read(await peer.request("no/such/method", undefined, 4));
  await read(await peer.request("tools/call", progressCall, 5));
  await playQuestion(peer, revision);
  await read(await peer.request("resources/subscribe", { uri: "note://a" }, 7));
  const changing = await peer.request("tools/call", { name: "change" }, 8);
  await Promise.all([read(changing), untilChanged(stream)]);
  if (revision === "2025-03-26") await read(await peer.post([toRequest("ping", undefined, "b1"), toRequest("ping")]));
  else await read(await peer.post([toRequest("ping")]));
  await playRefusals(peer);
  await read(await peer.delete());
  await stream.messages();
  await read(await peer.request("ping", undefined, 9));
}

/** Plays a request to the client, its answer, and a client that resumes the stream after the request. */
async function playQuestion(peer: SessionPeer, revision: RevisionDate): Promise<void> {
  const canElicit = revision >= "2025-06-18";
  const answer = await peer.request("tools/call", { name: canElicit ? "ask_name" : "ask_model" }, 6);
  let asked = await answer.event();
  while (asked?.data === "") asked = await answer.event();
  const { id } = JSON.parse(String(asked?.data));
  const sampled = { role: "assistant", model: "tiny", content: { type: "text", text: "Hello" } };
  await read(await peer.answer(id, canElicit ? greeting : sampled));
  await untilResponse(answer, 6);
  await answer.messages();
  const rest = await peer.get(asked?.id);
  await untilResponse(rest, 6);
  await rest.messages();
}

async function playRefusals(peer: SessionPeer): Promise<void> {
  const ping = toRequest("ping");
  const { url } = peer;
  await read(await send(url, { body: ping }));
  await read(await peer.post(ping, { "mcp-session-id": "nobody" }));
  await read(await peer.post(ping, { "mcp-protocol-version": "1999-01-01" }));
  await read(await peer.post(ping, { accept: "text/plain" }));
  await read(await peer.post(ping, { "content-type": "text/plain" }));
  await read(await peer.post(ping, { origin: "https://evil.example" }));
  await read(await peer.post("{"));
  await read(await send(url, { method: "GET", headers: { accept: "text/event-stream" } }));
  await read(await send(url, { method: "PUT", body: ping }));
}

async function playStateless(url: string): Promise<void> {
  const peer = new StatelessPeer(url, { capabilities: elicitation });
  await read(await peer.request("server/discover", {}, 1));
  const notifications = { toolsListChanged: true, resourceSubscriptions: ["note://a"] };
  const listening = await peer.request("subscriptions/listen", { notifications }, "listen");
  await listening.message();
  await read(await peer.request("tools/call", { name: "echo", arguments: { message: "hi" } }, 2));
  await read(await peer.request("tools/call", progressCall, 3));
  const asked = await (await peer.request("tools/call", { name: "ask_name" }, 4)).response();
  const { inputRequests, requestState } = asked.result;
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, greeting]));
  await read(await peer.request("tools/call", { name: "ask_name", inputResponses, requestState }, 5));
  const changing = await peer.request("tools/call", { name: "change" }, 6);
  await Promise.all([read(changing), untilChanged(listening)]);
  listening.drop();
  await playStatelessRefusals(peer);
}

async function playStatelessRefusals(peer: StatelessPeer): Promise<void> {
  const { url } = peer;
  const echo = { name: "echo", arguments: { message: "hi" } };
  const initialize = toInitialize("2026-07-28");
  await read(await peer.request("tools/call", echo, 7, { "mcp-method": undefined }));
  await read(await peer.request("tools/call", echo, 8, { "mcp-name": "add" }));
  await read(await peer.request("tools/call", echo, 9, { "mcp-protocol-version": "2025-11-25" }));
  await read(await peer.request("no/such/method", {}, 10));
  await read(await peer.request("tools/call", { name: "no_such_tool" }, 11));
  await read(await new StatelessPeer(url).request("tools/call", { name: "needs_elicitation" }, 12));
  await read(await peer.post(toRequest("tools/list"), toHeaders("tools/list")));
  await read(await peer.post(initialize, { ...plainHeaders, "mcp-protocol-version": "2026-07-28" }));
  await read(
    await peer.post(toNotification("notifications/cancelled", { requestId: 99 }), toHeaders("notifications/cancelled")),
  );
  await read(
    await send(url, { method: "GET", headers: { accept: "text/event-stream", "mcp-protocol-version": "2026-07-28" } }),
  );
  await read(await send(url, { method: "DELETE", headers: { "mcp-protocol-version": "2026-07-28" } }));
}

async function read(answer: Answer): Promise<void> {
  await answer.text();
}

/** Reads a stream up to the response to a request. */
async function untilResponse(stream: Answer, id: number): Promise<void> {
  for (let next = await stream.message(); next.id !== id || next.method !== undefined; ) next = await stream.message();
}

/** Reads a stream until both changes of the `change` tool have arrived. */
async function untilChanged(stream: Answer): Promise<void> {
  const methods = new Set<string | undefined>();
  const wanted = ["notifications/tools/list_changed", "notifications/resources/updated"];
  while (!wanted.every((method) => methods.has(method))) methods.add((await stream.message()).method);
}
