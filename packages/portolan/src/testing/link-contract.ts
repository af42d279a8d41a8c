import type { Link, LinkEvents, ResponseSink } from "../client/channel-link.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import { type Message, type RequestId, type RpcRequest, type RpcResponse, rpcCodes } from "../jsonrpc/message.ts";
import { type ChecksOf, type ContractCheck, codeOf, Heard, quiet, same, toChecks } from "./contract.ts";

/** The server's end of a link, as a script moves it. */
export interface FarEnd {
  /** Resolves to the first so many messages that arrived. */
  received(count: number): Promise<readonly Message[]>;
  send(message: Message): void;
  /** Ends the connection from this side. */
  cut(): void | Promise<void>;
}

/** A link that is not open yet, as the contract needs it. */
export interface LinkUnderTest {
  readonly link: Link;
  /** The far end of the connection that the link's last `open` made. */
  accept(): FarEnd | Promise<FarEnd>;
  /** Set where messages are handed on as objects: then what has no JSON form passes too. */
  readonly isByReference?: boolean;
  release?(): Promise<void>;
}

/** Every promise of the Link interface, for whichever test runner; each check makes its own link. */
export function linkContract(make: () => LinkUnderTest | Promise<LinkUnderTest>): ContractCheck[] {
  return toChecks(checks, make);
}

/** The far end of a link that a channel carries. */
export function farEndOf(channel: Channel): FarEnd {
  const heard = new Heard<Message>();
  channel.open({
    message: (message) => heard.add(message),
    batch: (messages) => {
      for (const message of messages) heard.add(message);
    },
    unreadable: ({ why }) => {
      throw new Error(`the link sent what is no message: ${why}`);
    },
    closed() {},
  });
  return {
    received: (count) => heard.count(count),
    send: (message) => {
      channel.send(message);
    },
    cut: () => channel.close(),
  };
}

/** What a link told, in order: its sinks by the id of their requests, and its events. */
type Told =
  | { readonly id: RequestId; readonly response: RpcResponse }
  | { readonly id: RequestId; readonly failed: string }
  | { readonly notification: string }
  | { readonly request: RequestId }
  | { readonly lost: string };

/** Something to listen with; everything ends up in one list. */
class Listener {
  readonly told: Heard<Told> = new Heard<Told>();
  answer: (response: RpcResponse) => void = () => {};

  readonly events: LinkEvents = {
    request: (request, answer) => {
      this.answer = answer;
      this.told.add({ request: request.id });
    },
    notification: ({ method }) => this.told.add({ notification: method }),
    odd() {},
    lost: ({ message }) => this.told.add({ lost: message }),
  };

  sink(id: RequestId): ResponseSink {
    return {
      response: (response) => this.told.add({ id, response }),
      failed: ({ message }) => this.told.add({ id, failed: message }),
    };
  }

  exchange(link: Link, ...ids: RequestId[]): void {
    for (const id of ids) link.exchange(ask(id), this.sink(id));
  }

  /** The ids of the requests that failed, in order; throws where no reason is given. */
  failures(): RequestId[] {
    return this.told.all.flatMap((told) => {
      if (!("failed" in told)) return [];
      if (told.failed === "") throw new Error(`request ${told.id} failed without a reason`);
      return told.id;
    });
  }

  losses(): number {
    return this.told.all.filter((told) => "lost" in told && told.lost !== "").length;
  }
}

const ask = (id: RequestId): RpcRequest => ({ jsonrpc: "2.0", id, method: "ask" });
const reply = (id: RequestId): RpcResponse => ({ jsonrpc: "2.0", id, result: { to: id } });
const note = (method: string): Message => ({ jsonrpc: "2.0", method });

async function open(subject: LinkUnderTest): Promise<{ far: FarEnd; listener: Listener }> {
  const listener = new Listener();
  await subject.link.open(listener.events);
  return { far: await subject.accept(), listener };
}

const checks: ChecksOf<LinkUnderTest> = {
  "a request arrives as it is, and its response at its sink": async (subject) => {
    const { far, listener } = await open(subject);
    const request: RpcRequest = { jsonrpc: "2.0", id: 7, method: "ask", params: { text: "日本語 🗺️" } };
    subject.link.exchange(request, listener.sink(7));
    same(await far.received(1), [request]);
    far.send(reply(7));
    same(await listener.told.count(1), [{ id: 7, response: reply(7) }]);
  },
  "an error is a response too": async (subject) => {
    const { far, listener } = await open(subject);
    listener.exchange(subject.link, 1);
    await far.received(1);
    const response: RpcResponse = {
      jsonrpc: "2.0",
      id: 1,
      error: { code: rpcCodes.invalidParams, message: "no", data: { at: "x" } },
    };
    far.send(response);
    same(await listener.told.count(1), [{ id: 1, response }]);
  },
  "answers that come out of order find those who asked": async (subject) => {
    const { far, listener } = await open(subject);
    listener.exchange(subject.link, 1, "1", 2, 3);
    await far.received(4);
    const order: RequestId[] = [3, "1", 2, 1];
    for (const id of order) far.send(reply(id));
    same(
      await listener.told.count(4),
      order.map((id) => ({ id, response: reply(id) })),
    );
  },
  "notifications are told in order, and before the response behind them": async (subject) => {
    const { far, listener } = await open(subject);
    listener.exchange(subject.link, 1);
    await far.received(1);
    for (const method of ["a", "b", "c"]) far.send(note(method));
    far.send(reply(1));
    const notifications = ["a", "b", "c"].map((notification) => ({ notification }));
    same(await listener.told.count(4), [...notifications, { id: 1, response: reply(1) }]);
  },
  "a notification arrives, in order with requests": async (subject) => {
    const { far, listener } = await open(subject);
    subject.link.notify({ jsonrpc: "2.0", method: "a" });
    listener.exchange(subject.link, 1);
    subject.link.notify({ jsonrpc: "2.0", method: "b" });
    same(await far.received(3), [note("a"), ask(1), note("b")]);
  },
  "a question of the server is told, and its answer sent": async (subject) => {
    const { far, listener } = await open(subject);
    listener.exchange(subject.link, 1);
    await far.received(1);
    far.send({ jsonrpc: "2.0", id: 1, method: "question" });
    same(await listener.told.count(1), [{ request: 1 }]);
    listener.answer(reply(1));
    same((await far.received(2))[1], reply(1));
    far.send(reply(1));
    same((await listener.told.count(2))[1], { id: 1, response: reply(1) });
  },
  "a sink hears one answer, however many come": async (subject) => {
    const { far, listener } = await open(subject);
    listener.exchange(subject.link, 1, 2);
    await far.received(2);
    for (const id of [1, 1, 99, 2]) far.send(reply(id));
    same(await listener.told.count(2), [
      { id: 1, response: reply(1) },
      { id: 2, response: reply(2) },
    ]);
  },
  "a request that is cancelled hears nothing more, also not of the end": async (subject) => {
    const { far, listener } = await open(subject);
    listener.exchange(subject.link, 1, 2);
    await far.received(2);
    subject.link.cancel(1, "no longer needed");
    subject.link.cancel(1, "twice");
    subject.link.cancel(99, "never asked");
    far.send(reply(1));
    far.send(reply(2));
    same(await listener.told.count(1), [{ id: 2, response: reply(2) }]);
    await far.cut();
    await listener.told.count(2);
    same(listener.failures(), []);
  },
  "what has no JSON form is refused at once, and nothing is sent": async (subject) => {
    if (subject.isByReference) return;
    const { far, listener } = await open(subject);
    const bad: RpcRequest = { jsonrpc: "2.0", id: 1, method: "ask", params: { big: 1n } };
    same(await codeOf(() => subject.link.exchange(bad, listener.sink(1))), "unserializable");
    listener.exchange(subject.link, 2);
    same(await far.received(1), [ask(2)]);
    await far.cut();
    await listener.told.count(2);
    same(listener.failures(), [2]);
  },
  "a loss fails every request once, with a reason, and is told once after that": async (subject) => {
    const { far, listener } = await open(subject);
    listener.exchange(subject.link, 1, 2, 3);
    await far.received(3);
    far.send(reply(2));
    await listener.told.count(1);
    await far.cut();
    await listener.told.count(4);
    await subject.link.close();
    await quiet();
    same(listener.failures(), [1, 3]);
    same(listener.losses(), 1);
    same("lost" in (listener.told.all.at(-1) ?? {}), true);
  },
  "close fails what waits, and may be called twice": async (subject) => {
    const { far, listener } = await open(subject);
    listener.exchange(subject.link, 1, 2);
    await far.received(2);
    await Promise.all([subject.link.close(), subject.link.close()]);
    await listener.told.count(3);
    await subject.link.close();
    await quiet();
    same(listener.failures(), [1, 2]);
    same(listener.losses(), 1);
    same(listener.told.all.length, 3);
  },
  "what is asked after the end fails, and what is told is ignored": async (subject) => {
    const { listener } = await open(subject);
    await subject.link.close();
    await listener.told.count(1);
    listener.exchange(subject.link, 1);
    await listener.told.count(2);
    subject.link.notify({ jsonrpc: "2.0", method: "late" });
    subject.link.cancel(1, "late");
    await quiet();
    same(listener.failures(), [1]);
  },
  "a link that was lost opens again, or says why it does not": async (subject) => {
    const { far, listener } = await open(subject);
    await far.cut();
    await listener.told.count(1);
    const again = new Listener();
    const refusal = await subject.link.open(again.events).then(
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
    same(await again.told.count(1), [{ id: 1, response: reply(1) }]);
    same(listener.told.all.length, 1);
  },
};
