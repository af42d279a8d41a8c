import { show } from "../json.ts";
import { check } from "../reply.ts";
import { httpSseOf, type Scenario } from "../scenario.ts";
import { HttpSseWire } from "../wire/http-sse.ts";

const overBoth = { transports: ["http-sse"] } as const;
const stranger = "http://portolan-stranger.example";

export const httpSse: readonly Scenario[] = [
  {
    id: "http-sse/endpoint",
    title: "the stream begins with the endpoint event",
    requirements: ["D2", "D3"],
    strength: "must",
    ...overBoth,
    async run(context) {
      const wire = httpSseOf(await context.connect());
      return `sent GET; got ${show(await wire.first)}`;
    },
  },
  {
    id: "http-sse/accepted",
    title: "a POST is accepted, and answered on the stream",
    requirements: ["D1", "D2", "5.1.2"],
    strength: "must",
    ...overBoth,
    async run(context) {
      const peer = await context.shared();
      const posted = await peer.send(peer.toRequest("ping", undefined, { id: "on the stream" })).begun;
      const { status = 0 } = posted;
      check(status >= 200 && status < 300, () => `posted a ping; got HTTP ${status}; expected 2xx`);
      const answer = await peer.inbox.wait("an answer on the stream", () => peer.inbox.responses("on the stream")[0]);
      return `posted a ping; got HTTP ${status}, and ${show(answer)} on the stream`;
    },
  },
  {
    id: "http-sse/apart",
    title: "two clients get two endpoints, and each its own responses",
    requirements: ["5.1.3", "E12"],
    strength: "must",
    ...overBoth,
    async run(context) {
      const [one, other] = [await context.open(), await context.open()];
      const [here, there] = [httpSseOf(one).endpoint, httpSseOf(other).endpoint];
      check(here !== there, () => `opened two streams; got ${here} for both; expected two addresses`);
      (await one.request("ping", undefined, { id: "mine" })).result();
      await other.settle();
      check(other.inbox.responses("mine").length === 0, () => "posted on one stream; got the answer on another");
      return "opened two streams; got each answer on its own";
    },
  },
  {
    id: "http-sse/unknown-address",
    title: "an unknown endpoint is refused",
    requirements: ["5.1.3"],
    strength: "must",
    ...overBoth,
    async run(context) {
      const peer = await context.connect();
      const wire = httpSseOf(peer);
      wire.endpoint = `${wire.endpoint.slice(0, -6)}000000`;
      const { status = 0 } = await peer.send(peer.toRequest("ping")).finished;
      check(status >= 400 && status < 500, () => `posted to a made-up address; got HTTP ${status}; expected a refusal`);
      return `posted to a made-up address; got HTTP ${status}`;
    },
  },
  {
    id: "http-sse/origin",
    title: "a request from a foreign origin is refused",
    requirements: ["D4"],
    strength: "must",
    ...overBoth,
    async run(context) {
      const { url, headers } = "url" in context.target ? context.target : { url: "", headers: {} };
      const ignore = { received: () => {}, noise: () => {}, closed: () => {} };
      const wire = new HttpSseWire(url, ignore, { ...headers, origin: stranger });
      const timer = setTimeout(() => wire.close(), context.timeoutMs);
      const { status = 0 } = await wire.stream.begun;
      clearTimeout(timer);
      await wire.close();
      check(
        status >= 400 && status < 500,
        () => `sent GET with Origin: ${stranger}; got HTTP ${status}; expected a refusal`,
      );
      return `sent GET with Origin: ${stranger}; got HTTP ${status}`;
    },
  },
];
