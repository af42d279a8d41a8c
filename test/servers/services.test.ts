// What holds for the servers of all services, as programs that a host starts.
import { type Client, connect, type TapEvent } from "portolan/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { startSeeded as startAsana } from "./asana/kit.ts";
import { hello, startSeeded as startGithub } from "./github/kit.ts";
import { scriptOf } from "./kit/programs.ts";
import { call, failureOf } from "./kit/tools.ts";
import { startSeeded as startSlack } from "./slack/kit.ts";

/** A service as these tests see it. */
interface Service {
  readonly token: string;
  readonly env: { readonly [name: string]: string };
  /** A call of a tool that only reads. */
  readonly reading: readonly [tool: string, args: object];
  /** Answers the next requests with this status and this sentence of the service. */
  readonly fail: (status: number, says: string, times?: number) => void;
  /** Sends the beginning of an answer, and nothing more. */
  readonly stall: () => void;
  readonly revoke: () => void;
}

const services: { readonly [name: string]: () => Promise<Service> } = {
  github: async () => {
    const { fake, token } = await startGithub();
    return {
      token,
      env: { GITHUB_TOKEN: token, GITHUB_API_URL: fake.origin },
      reading: ["get_repository", hello],
      fail: (status, message, times) => fake.fail({ status, body: { message } }, times),
      stall: () => fake.fail("stall"),
      revoke: () => fake.revoke("ada"),
    };
  },
  slack: async () => {
    const { fake, token } = await startSlack();
    return {
      token,
      env: { SLACK_TOKEN: token, SLACK_API_URL: fake.api },
      reading: ["list_users", {}],
      fail: (status, error, times) => fake.fail({ status, body: { ok: false, error } }, times),
      stall: () => fake.fail("stall"),
      revoke: () => fake.revokeAll("ada"),
    };
  },
  asana: async () => {
    const { fake, token } = await startAsana();
    return {
      token,
      env: { ASANA_TOKEN: token, ASANA_API_URL: fake.api },
      reading: ["list_workspaces", {}],
      fail: (status, message, times) => fake.fail({ status, body: { errors: [{ message }] } }, times),
      stall: () => fake.fail("stall"),
      revoke: () => fake.revokeAll("ada"),
    };
  },
};

/** Starts the program of a service, and keeps everything that a recording would have. */
async function start(name: string, { env }: Service, ...args: string[]): Promise<[Client, TapEvent[]]> {
  const recorded: TapEvent[] = [];
  const tap = (event: TapEvent) => void recorded.push(event);
  const client = await connect({ command: process.execPath, args: [scriptOf(name), ...args], env }, { tap });
  onTestFinished(() => client.close());
  return [client, recorded];
}

describe.each(Object.entries(services))("portolan-%s", (name, startService) => {
  test("has its token in no result, error, log and recording, also if the service repeats it", async () => {
    const service = await startService();
    const [client, recorded] = await start(name, service);
    const [tool, args] = service.reading;
    await call(client, tool, args);
    for (const status of [400, 401, 403, 404, 409, 422]) {
      service.fail(status, `About ${service.token}`);
      const failure = await failureOf(client, tool, args);
      expect(failure).toContain("[token]");
    }
    service.fail(500, `About ${service.token}`, 4);
    expect(await failureOf(client, tool, args)).toContain("did not answer properly: About [token]");
    service.revoke();
    expect(await failureOf(client, tool, args)).toContain("does not accept the sign-in");
    await client.close();
    expect(recorded.length).toBeGreaterThan(20);
    expect(JSON.stringify(recorded)).not.toContain(service.token);
  });

  test("a token that is revoked between two calls is refused with the way back", async () => {
    const service = await startService();
    const [client] = await start(name, service);
    const [tool, args] = service.reading;
    await call(client, tool, args);
    service.revoke();
    const variable = `${name.toUpperCase()}_TOKEN`;
    expect(await failureOf(client, tool, args)).toMatch(
      new RegExp(`Make a new token at https://\\S+ and set ${variable} to it`),
    );
  });

  test("an answer that stalls is given up after --timeout, and asked for again", async () => {
    const service = await startService();
    const [client] = await start(name, service, "--timeout", "1");
    const [tool, args] = service.reading;
    service.stall();
    await call(client, tool, args);
  });
});
