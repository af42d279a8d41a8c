import { isObject, type JsonObject, show } from "../json.ts";
import { check } from "../reply.ts";
import { firstStateless, type Scenario, stdioOf } from "../scenario.ts";

/** Checks of everything that the other scenarios have received; they run last. */
export const closing: readonly Scenario[] = [
  {
    id: "closing/well-formed",
    title: "every message is valid JSON-RPC 2.0",
    requirements: ["A1", "A2", "A4"],
    strength: "must",
    async run(context) {
      const { messages } = (await context.shared()).inbox;
      const odd = messages.find((message) => !isWellFormed(message));
      check(!odd, () => `looked at ${messages.length} messages; got ${show(odd)}`);
      return `looked at ${messages.length} messages; all of them are well formed`;
    },
  },
  {
    id: "closing/purity",
    title: "nothing but messages is written to the output",
    requirements: ["C1", "C2"],
    strength: "must",
    transports: ["stdio"],
    async run(context) {
      const { noises, messages } = (await context.shared()).inbox;
      check(noises.length === 0, () => `read ${messages.length} messages; got ${show(noises[0])} among them`);
      return `read ${messages.length} messages; got nothing else`;
    },
  },
  {
    id: "closing/no-requests",
    title: "the server sends no requests",
    requirements: ["A1", "C5"],
    strength: "must",
    since: firstStateless,
    async run(context) {
      const { messages } = (await context.shared()).inbox;
      const request = messages.find((message) => message["method"] !== undefined && "id" in message);
      check(!request, () => `read ${messages.length} messages; got the request ${show(request)}`);
      return `read ${messages.length} messages; none is a request`;
    },
  },
  {
    id: "closing/exits",
    title: "the server exits when its input is closed",
    requirements: ["B14"],
    strength: "should",
    transports: ["stdio"],
    async run(context) {
      const peer = await context.shared();
      await peer.roundTrip();
      const wire = stdioOf(peer);
      let how: string | undefined;
      wire.gone.then((ending) => {
        how = ending;
        peer.inbox.wake();
      });
      wire.end();
      const ending = await peer.inbox.wait(
        "the server to exit after the end of its input",
        () => peer.inbox.closedReason ?? (how === undefined ? undefined : `the server ${how}`),
      );
      return `closed the input; ${ending}`;
    },
  },
];

function isWellFormed(message: JsonObject): boolean {
  const { jsonrpc, id, method, result, error } = message;
  if (jsonrpc !== "2.0") return false;
  if (method !== undefined) return typeof method === "string" && (!("id" in message) || isId(id));
  // JSON-RPC 2.0, section 5: an error has no id if the id of the request could not be read.
  if (isObject(error)) return result === undefined && (id == null || isId(id));
  return isObject(result) && error === undefined && isId(id);
}

function isId(id: unknown): boolean {
  return typeof id === "string" || Number.isInteger(id);
}
