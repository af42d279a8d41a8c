import { finishHandshake, sendInitialize } from "../connect.ts";
import { at, isObject, type JsonObject, show } from "../json.ts";
import { check } from "../reply.ts";
import { metaKey, revisions } from "../revisions.ts";
import { firstStateless, lastStateful, type Scenario } from "../scenario.ts";

const handshakes = { until: lastStateful } as const;
const onStdio = { since: firstStateless, transports: ["stdio"] } as const;
const allowedEarly = ["ping", "notifications/message"];
const unknownVersion = "1999-01-01";

export const handshake: readonly Scenario[] = [
  {
    id: "handshake/result",
    title: "the handshake names the version, the server and its capabilities",
    requirements: ["B1", "B4", "B8"],
    strength: "must",
    ...handshakes,
    async run({ profile: { introduction, revision } }) {
      const { protocolVersion, capabilities, serverInfo } = introduction;
      const isNamed = typeof at(serverInfo, "name") === "string" && typeof at(serverInfo, "version") === "string";
      const isFine = protocolVersion === revision && isObject(capabilities) && isNamed;
      check(isFine, () => `sent initialize; got ${show(introduction)}; expected version, capabilities and serverInfo`);
      return `sent initialize with ${revision}; got ${show(introduction)}`;
    },
  },
  {
    id: "handshake/unknown-version",
    title: "an unknown version is answered with a supported one",
    requirements: ["B4"],
    strength: "must",
    ...handshakes,
    async run(context) {
      const reply = await sendInitialize(await context.connect(), unknownVersion);
      const version = reply.result()["protocolVersion"];
      const isKnown = revisions.some(({ date, isStateless }) => date === version && !isStateless);
      check(isKnown, () => reply.evidence("another version"));
      return reply.summary;
    },
  },
  {
    id: "handshake/order",
    title: "pings are answered at any time, and the server sends no requests before the client is ready",
    requirements: ["B5", "J6"],
    strength: "should",
    ...handshakes,
    async run(context) {
      const peer = await context.connect();
      // Over Streamable HTTP a ping needs a session.
      if (context.transport !== "http") await peer.roundTrip();
      (await sendInitialize(peer)).result();
      await peer.settle();
      const isEarly = ({ method }: JsonObject) => method !== undefined && !allowedEarly.includes(String(method));
      const early = peer.inbox.messages.find(isEarly);
      check(!early, () => `sent initialize and pings; got ${show(early)}; expected nothing else before initialized`);
      await finishHandshake(peer);
      await peer.settle();
      return "sent pings, initialize and pings again; got their answers only, and more after initialized";
    },
  },
  {
    id: "discover/result",
    title: "discovery returns versions, capabilities and how long they are valid",
    requirements: ["B10", "A5", "J11"],
    strength: "must",
    ...onStdio,
    async run(context) {
      const reply = await (await context.shared()).request("server/discover");
      const { resultType, supportedVersions, capabilities, ttlMs, cacheScope } = reply.result();
      const isCacheable =
        Number.isInteger(ttlMs) && Number(ttlMs) >= 0 && ["public", "private"].includes(String(cacheScope));
      const isFine =
        resultType === "complete" && Array.isArray(supportedVersions) && isObject(capabilities) && isCacheable;
      check(isFine, () => reply.evidence("resultType, supportedVersions, capabilities, ttlMs and cacheScope"));
      return reply.summary;
    },
  },
  {
    id: "discover/identity",
    title: "results name the server",
    requirements: ["B8"],
    strength: "should",
    ...onStdio,
    async run(context) {
      const reply = await (await context.shared()).request("server/discover");
      const named = at(reply.result(), "_meta", metaKey("serverInfo"), "name");
      check(typeof named === "string", () => reply.evidence("serverInfo in _meta"));
      return reply.summary;
    },
  },
  {
    id: "discover/unknown-version",
    title: "a request of an unknown version is refused with -32022 and the supported versions",
    requirements: ["B4", "A13"],
    strength: "must",
    ...onStdio,
    async run(context) {
      const peer = await context.shared();
      const meta = { [metaKey("protocolVersion")]: unknownVersion };
      const reply = await peer.request("server/discover", undefined, { meta });
      const { data } = reply.error(-32022);
      const supported = at(data, "supported");
      const isFine =
        Array.isArray(supported) &&
        supported.includes(context.revision.date) &&
        at(data, "requested") === unknownVersion;
      check(isFine, () => reply.evidence("data.supported and data.requested"));
      return reply.summary;
    },
  },
  {
    id: "discover/missing-metadata",
    title: "a request that does not describe itself is refused with -32602",
    requirements: ["B7"],
    strength: "must",
    ...onStdio,
    async run(context) {
      const peer = await context.shared();
      const reply = await peer.startRaw({ jsonrpc: "2.0", id: "bare", method: "tools/list" }).reply;
      reply.error(-32602);
      return reply.summary;
    },
  },
  {
    id: "discover/removed-methods",
    title: "methods of the stateful revisions are unknown",
    requirements: ["J6", "J8", "H4", "B11"],
    strength: "must",
    ...onStdio,
    async run(context) {
      const peer = await context.shared();
      const removed = {
        ping: {},
        "logging/setLevel": { level: "info" },
        "resources/subscribe": { uri: "x://y" },
        "resources/unsubscribe": { uri: "x://y" },
      };
      for (const [method, params] of Object.entries(removed)) (await peer.request(method, params)).error(-32601);
      return `sent ${Object.keys(removed).join(", ")}; got error -32601 for each`;
    },
  },
];
