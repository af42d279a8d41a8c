import type { Link, LinkEvents, ResponseSink } from "../client/channel-link.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import { type Message, type RequestId, type RpcRequest, type RpcResponse, rpcCodes } from "../jsonrpc/message.ts";

import { type ChecksOf, type ContractCheck, codeOf, quiet, Received, same, toChecks } from "./contract.ts";

/** The server's end of a link, controlled by a test. */
export interface FarEnd {
  /** Resolves with the messages received, when there are this many. */
  received(count: number): Promise<readonly Message[]>;
  send(message: Message): void;
  /** Ends the connection from this side. */
  cut(): void | Promise<void>;
}

/** A link for the contract, which is not open yet. */
export interface LinkUnderTest {
  readonly link: Link;
  /** Returns the far end of the connection that the last `open` made. */
  accept(): FarEnd | Promise<FarEnd>;
  /** True if messages are passed as objects: then values without a JSON form pass too. */
  readonly isByReference?: boolean;
  release?(): Promise<void>;
}

/** Returns test cases for every requirement of the Link interface. Each makes its own link. */
export function linkContract(make: () => LinkUnderTest | Promise<LinkUnderTest>): ContractCheck[] {
  return toChecks(checks, make);
}

/** Returns the far end of a link over a channel. */
export function farEndOf(channel: Channel): FarEnd {
  const received = new Received<Message>();
  channel.open({
    message: (message) => received.add(message),
    batch: (messages) => {
      for (const message of messages) received.add(message);
    },
    unreadable: ({ why }) => {
      throw new Error(`the link sent an invalid message: ${why}`);
    },
    closed() {},
  });
  return {
    received: (count) => received.count(count),
    send: (message) => {
      channel.send(message);
    },
    cut: () => channel.close(),
  };
}

/** One event of a link or of the sink of a request. */
type LinkEvent =
  | { readonly id: RequestId; readonly response: RpcResponse }
  | { readonly id: RequestId; readonly failed: string }
  | { readonly notification: string }
  | { readonly request: RequestId }
  | { readonly lost: string };

/** A listener that collects all events in one list. */
class Listener {
  readonly events: Received<LinkEvent> = new Received<LinkEvent>();
  answer: (response: RpcResponse) => void = () => {};

  readonly handlers: LinkEvents = {
    request: (request, answer) => {
      this.answer = answer;
      this.events.add({ request: request.id });
    },
    notification: ({ method }) => this.events.add({ notification: method }),
    invalid() {},
    lost: ({ message }) => this.events.add({ lost: message }),
  };

  sink(id: RequestId): ResponseSink {
    return {
      response: (response) => this.events.add({ id, response }),
      failed: ({ message }) => this.events.add({ id, failed: message }),
    };
  }

  exchange(link: Link, ...ids: RequestId[]): void {
    for (const id of ids) link.exchange(ask(id), this.sink(id));
  }

  /** Returns the ids of the requests that failed, in order. Throws if one has no reason. */
  failures(): RequestId[] {
    return this.events.all.flatMap((event) => {
      if (!("failed" in event)) return [];
      if (event.failed === "") throw new Error(`request ${event.id} failed without a reason`);
      return event.id;
    });
  }

  losses(): number {
    return this.events.all.filter((event) => "lost" in event && event.lost !== "").length;
  }
}

const ask = (id: RequestId): RpcRequest => ({ jsonrpc: "2.0", id, method: "ask" });
const reply = (id: RequestId): RpcResponse => ({ jsonrpc: "2.0", id, result: { to: id } });
const note = (method: string): Message => ({ jsonrpc: "2.0", method });

async function open(subject: LinkUnderTest): Promise<{ far: FarEnd; listener: Listener }> {
  const listener = new Listener();
  await subject.link.open(listener.handlers);
  return { far: await subject.accept(), listener };
}

const checks: ChecksOf<LinkUnderTest> = {
  "delivers a request unchanged, and its response to its sink": async (subject) => {
    const { far, listener } = await open(subject);
    const request: RpcRequest = { jsonrpc: "2.0", id: 7, method: "ask", params: { text: "日本語 🗺️" } };
    subject.link.exchange(request, listener.sink(7));
    same(await far.received(1), [request]);
    far.send(reply(7));
    same(await listener.events.count(1), [{ id: 7, response: reply(7) }]);
  },
  "delivers an error as a response": async (subject) => {
    const { far, listener } = await open(subject);
    listener.exchange(subject.link, 1);
    await far.received(1);
    const response: RpcResponse = {
      jsonrpc: "2.0",
      id: 1,
      error: { code: rpcCodes.invalidParams, message: "no", data: { at: "x" } },
    };
    far.send(response);
    same(await listener.events.count(1), [{ id: 1, response }]);
  },
  "matches responses that arrive out of order": async (subject) => {
    const { far, listener } = await open(subject);
    listener.exchange(subject.link, 1, "1", 2, 3);
    await far.received(4);
    const order: RequestId[] = [3, "1", 2, 1];
    for (const id of order) far.send(reply(id));
    same(
      await listener.events.count(4),
      order.map((id) => ({ id, response: reply(id) })),
    );
  },
  "delivers notifications in order, and before a later response": async (subject) => {
    const { far, listener } = await open(subject);
    listener.exchange(subject.link, 1);
    await far.received(1);
    for (const method of ["a", "b", "c"]) far.send(note(method));
    far.send(reply(1));
    const notifications = ["a", "b", "c"].map((notification) => ({ notification }));
    same(await listener.events.count(4), [...notifications, { id: 1, response: reply(1) }]);
  },
  "sends notifications and requests in order": async (subject) => {
    const { far, listener } = await open(subject);
    subject.link.notify({ jsonrpc: "2.0", method: "a" });
    listener.exchange(subject.link, 1);
    subject.link.notify({ jsonrpc: "2.0", method: "b" });
    same(await far.received(3), [note("a"), ask(1), note("b")]);
  },
  "delivers a request of the server, and sends the answer": async (subject) => {
    const { far, listener } = await open(subject);
    listener.exchange(subject.link, 1);
    await far.received(1);
    far.send({ jsonrpc: "2.0", id: 1, method: "question" });
    same(await listener.events.count(1), [{ request: 1 }]);
    listener.answer(reply(1));
    same((await far.received(2))[1], reply(1));
    far.send(reply(1));
    same((await listener.events.count(2))[1], { id: 1, response: reply(1) });
  },
  "delivers one response to a sink, also if several arrive": async (subject) => {
    const { far, listener } = await open(subject);
    listener.exchange(subject.link, 1, 2);
    await far.received(2);
    for (const id of [1, 1, 99, 2]) far.send(reply(id));
    same(await listener.events.count(2), [
      { id: 1, response: reply(1) },
      { id: 2, response: reply(2) },
    ]);
  },
  "delivers nothing to a cancelled request, also not the end": async (subject) => {
    const { far, listener } = await open(subject);
    listener.exchange(subject.link, 1, 2);
    await far.received(2);
    subject.link.cancel(1, "no longer needed");
    subject.link.cancel(1, "twice");
    subject.link.cancel(99, "never asked");
    far.send(reply(1));
    far.send(reply(2));
    same(await listener.events.count(1), [{ id: 2, response: reply(2) }]);
    await far.cut();
    await listener.events.count(2);
    same(listener.failures(), []);
  },
  "refuses a value without a JSON form at once, and sends nothing": async (subject) => {
    if (subject.isByReference) return;
    const { far, listener } = await open(subject);
    const bad: RpcRequest = { jsonrpc: "2.0", id: 1, method: "ask", params: { big: 1n } };
    same(await codeOf(() => subject.link.exchange(bad, listener.sink(1))), "unserializable");
    listener.exchange(subject.link, 2);
    same(await far.received(1), [ask(2)]);
    await far.cut();
    await listener.events.count(2);
    same(listener.failures(), [2]);
  },
  "fails every request once with a reason, then reports the loss once": async (subject) => {
    const { far, listener } = await open(subject);
    listener.exchange(subject.link, 1, 2, 3);
    await far.received(3);
    far.send(reply(2));
    await listener.events.count(1);
    await far.cut();
    await listener.events.count(4);
    await subject.link.close();
    await quiet();
    same(listener.failures(), [1, 3]);
    same(listener.losses(), 1);
    same("lost" in (listener.events.all.at(-1) ?? {}), true);
  },
  "fails pending requests on close, which may be called twice": async (subject) => {
    const { far, listener } = await open(subject);
    listener.exchange(subject.link, 1, 2);
    await far.received(2);
    await Promise.all([subject.link.close(), subject.link.close()]);
    await listener.events.count(3);
    await subject.link.close();
    await quiet();
    same(listener.failures(), [1, 2]);
    same(listener.losses(), 1);
    same(listener.events.all.length, 3);
  },
  "fails requests and ignores notifications after the end": async (subject) => {
    const { listener } = await open(subject);
    await subject.link.close();
    await listener.events.count(1);
    listener.exchange(subject.link, 1);
    await listener.events.count(2);
    subject.link.notify({ jsonrpc: "2.0", method: "late" });
    subject.link.cancel(1, "late");
    await quiet();
    same(listener.failures(), [1]);
  },
  "reopens after a loss, or rejects with the reason": async (subject) => {
    const { far, listener } = await open(subject);
    await far.cut();
    await listener.events.count(1);
    const again = new Listener();
    const refusal = await subject.link.open(again.handlers).then(
      () => undefined,
      (reason: Error) => reason,
    );
    if (refusal) {
      same([refusal instanceof Error, refusal.message !== ""], [true, true]);
      return;
    }
    const next = await subject.accept();
    again.exchange(subject.link, 1);
    same(await next.received(1), [ask(1)]);
    next.send(reply(1));
    same(await again.events.count(1), [{ id: 1, response: reply(1) }]);
    same(listener.events.all.length, 1);
  },
};
