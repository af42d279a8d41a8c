import { request as openRequest } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { type Answer, type Headers, plainHeaders, send, toInitialize } from "../http/kit.ts";
import { begin, type SessionPeer, StatelessPeer } from "../http/peer.ts";
import { ServerProcess } from "./processes.ts";

const revision = "2025-11-25";
const heapMegabytes = 256;
const filler = "x".repeat(3_900_000);
const callsPerMinute = 800;

/** Two callers of one server. The hostile one may also claim to be the innocent one. */
interface Callers {
  readonly options: object;
  readonly byToken: boolean;
  readonly innocent: Headers;
  readonly hostile: Headers;
}

const byToken: Callers = {
  options: {},
  byToken: true,
  innocent: { authorization: "innocent" },
  hostile: { authorization: "hostile" },
};

const byAddress: Callers = {
  options: { trustProxy: true },
  byToken: false,
  innocent: { "x-forwarded-for": "192.0.2.1" },
  hostile: { "x-forwarded-for": "192.0.2.1, 203.0.113.9" },
};

/** Does everything at once that uses memory, places or time of a server. */
class Attack {
  /** The statuses of all responses, by the kind of attack. */
  readonly statuses = new Map<string, Set<number>>();
  readonly #url: string;
  readonly #headers: Headers;
  #sessions: SessionPeer[] = [];

  constructor(url: string, headers: Headers) {
    this.#url = url;
    this.#headers = headers;
  }

  async run(): Promise<void> {
    // First, because there is no room for its body later.
    await this.#tryCapabilities();
    this.#sessions = await Promise.all([1, 2, 3].map(() => begin(this.#url, revision, { headers: this.#headers })));
    await Promise.all([
      this.#handshakes(),
      this.#slowCalls(),
      this.#uploads(),
      this.#unreadStreams(),
      this.#unreadAnswers(),
      this.#subscriptions(),
      this.#eventLogs(),
    ]);
    // Last, because everything else is refused after it.
    await this.#rates();
  }

  /** Notes the status of a response, and leaves its connection open without reading it. */
  async #leave(kind: string, response: Promise<Answer>): Promise<Answer | undefined> {
    try {
      const answer = await response;
      answer.stall();
      this.#note(kind, answer.status);
      return answer;
    } catch {
      // The server has cut the connection.
      this.#note(kind, 0);
      return undefined;
    }
  }

  #note(kind: string, status: number): void {
    this.statuses.set(kind, (this.statuses.get(kind) ?? new Set()).add(status));
  }

  async #handshakes(): Promise<void> {
    const large = toInitialize(revision);
    const info = { name: "large", version: "1", icons: [{ src: `data:image/png,${filler}` }] };
    Object.assign(large["params"] as object, { clientInfo: info });
    const small = toInitialize(revision);
    const headers = { ...plainHeaders, ...this.#headers };
    const tryOne = (kind: string, body: unknown) => this.#leave(kind, send(this.#url, { headers, body }));
    for (let round = 0; round < 20; round += 1) {
      await Promise.all([1, 2, 3].map(() => tryOne("handshakes", large)));
      await this.#tryCapabilities();
    }
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(Array.from({ length: 10 }, () => tryOne("handshakes", small)));
    }
  }

  async #tryCapabilities(): Promise<void> {
    const body = toInitialize(revision, { experimental: { filler: { filler } } });
    await this.#leave("capabilities", send(this.#url, { headers: { ...plainHeaders, ...this.#headers }, body }));
  }

  /** Calls that never end, with large arguments and without. */
  async #slowCalls(): Promise<void> {
    const peer = new StatelessPeer(this.#url, { headers: this.#headers });
    const hold = (key: string, more: object) => this.#leave("slow calls", peer.call("hold", { key, ...more }, key));
    for (let round = 0; round < 40; round += 1) {
      const begun = hold(`large ${round}`, { filler });
      await Promise.race([begun, this.#sessions[0]?.request("ping")]);
    }
    for (let round = 0; round < 300; round += 1) void hold(`small ${round}`, {});
    await this.#sessions[0]?.request("ping");
  }

  /** Large bodies that never end. */
  async #uploads(): Promise<void> {
    for (let round = 0; round < 40; round += 1) {
      const headers = { ...plainHeaders, ...this.#headers, "content-length": filler.length + 1 };
      const request = openRequest(this.#url, { method: "POST", agent: false, headers });
      request.on("response", ({ statusCode = 0 }) => this.#note("uploads", statusCode));
      request.on("error", () => this.#note("uploads", 0));
      onTestFinished(() => {
        request.destroy();
      });
      await new Promise((resolve) => request.write(filler, resolve));
    }
  }

  /** Streams that are never read. */
  async #unreadStreams(): Promise<void> {
    const [peer] = this.#sessions;
    for (let round = 0; round < 30 && peer; round += 1) {
      await this.#leave(
        "streams",
        peer.call("flood", { kinds: ["progress", "log"], rounds: 300, chars: 40_000 }, round),
      );
    }
    const filter = { notifications: { toolsListChanged: true } };
    const stateless = new StatelessPeer(this.#url, { headers: this.#headers });
    for (let round = 0; round < 110; round += 1) {
      await this.#leave("streams", stateless.request("subscriptions/listen", filter, round));
    }
  }

  /** Large answers that are never read. */
  async #unreadAnswers(): Promise<void> {
    const peer = new StatelessPeer(this.#url, { headers: this.#headers });
    for (let round = 0; round < 20; round += 1) {
      await this.#leave("answers", peer.call("large", { chars: 10_000_000 }, round));
    }
  }

  async #subscriptions(): Promise<void> {
    const peer = this.#sessions[1];
    for (let round = 0; round < 200 && peer; round += 1) {
      await this.#leave(
        "subscriptions",
        peer.request("resources/subscribe", { uri: `many://${"u".repeat(7_000)}${round}` }),
      );
    }
  }

  /** Streams whose events are stored, because their connection is lost. */
  async #eventLogs(): Promise<void> {
    const peer = this.#sessions[2];
    for (let round = 0; round < 20 && peer; round += 1) {
      const answer = await this.#leave(
        "event logs",
        peer.call("flood", { kinds: ["progress"], rounds: 200, chars: 40_000 }, round),
      );
      answer?.drop();
    }
  }

  async #rates(): Promise<void> {
    const peer = new StatelessPeer(this.#url, { headers: this.#headers });
    for (let round = 0; round <= callsPerMinute && !this.statuses.get("rates")?.has(429); round += 1) {
      await this.#leave("rates", peer.call("echo", { text: "again" }, round));
    }
  }
}

test.each([
  ["told apart by their tokens", byToken],
  ["told apart by their forwarded addresses", byAddress],
])(
  "a hostile caller leaves another one its calls, notifications and memory: %s",
  async (_, callers) => {
    // The limit of bytes within a minute would hide the other budgets; test/http/callers.test.ts has it.
    const limits = { callsPerMinute, bodyBytesPerMinute: 1024 ** 3 };
    const server = await ServerProcess.start({ ...callers.options, limits }, 0, {
      byToken: callers.byToken,
      flags: [`--max-old-space-size=${heapMegabytes}`],
    });
    const innocent = await begin(server.url, revision, { headers: callers.innocent });
    const stream = await innocent.get();
    const stateless = new StatelessPeer(server.url, { headers: callers.innocent });
    expect((await innocent.request("resources/subscribe", { uri: "note://1" })).status).toBe(200);

    const attack = new Attack(server.url, callers.hostile);
    let isOver = false;
    const attacking = attack.run().finally(() => {
      isOver = true;
    });
    let rounds = 0;
    do {
      // Calls, notifications, progress, new sessions and large arguments of the innocent caller, while the attack goes on.
      expect(await innocent.textOf("echo", { text: `round ${rounds}` })).toBe(`round ${rounds}`);
      expect(await stateless.textOf("echo", { text: `round ${rounds}` })).toBe(`round ${rounds}`);
      await server.ask("publish", { topic: "resources/updated", payload: { uri: "note://1" } });
      expect((await stream.message()).method).toBe("notifications/resources/updated");
      const steps = await (await innocent.call("count", { to: 3 }, `count ${rounds}`)).messages();
      expect(steps.map(({ params }) => params?.progress)).toEqual([1, 2, 3, undefined]);
      const another = await begin(server.url, revision, { headers: callers.innocent });
      expect((await another.delete()).status).toBe(204);
      expect(await stateless.textOf("echo", { text: filler })).toHaveLength(filler.length);
      rounds += 1;
    } while (!isOver && rounds < 50);
    await attacking;

    // The server has survived, and what it keeps for the hostile caller is bounded by bytes.
    expect(Number(await stateless.textOf("heap"))).toBeLessThan(0.75 * heapMegabytes * 1024 * 1024);
    expect(await innocent.textOf("echo", { text: "after all" })).toBe("after all");
    // Every budget was tried to its end.
    const refused = [...attack.statuses].filter(([, statuses]) => statuses.has(429)).map(([kind]) => kind);
    expect(refused).toEqual(
      expect.arrayContaining(["answers", "handshakes", "rates", "slow calls", "streams", "uploads"]),
    );
    // Large capabilities are never accepted: they get 400, or 429 while there is no room for their body.
    const ofCapabilities = [...(attack.statuses.get("capabilities") ?? [])];
    expect(ofCapabilities.filter((status) => status !== 429)).toEqual([400]);
  },
  300_000,
);
