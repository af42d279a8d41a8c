import { connect } from "portolan/client";
import { createMemoryStorage } from "portolan/storage";
import { describe, expect, test } from "vitest";

const program = (source: string) => ({ command: process.execPath, args: ["-e", source], graceMs: 100 });
const why = (reason: Error) => reason.message;

describe.each(["auto", "stateless", "stateful", "2025-06-18"])("connect with era %s", (era) => {
  test("says why a program cannot be started", async () => {
    const message = await connect({ command: "no-such-program" }, { era }).catch(why);
    expect(message).toBe(
      'The server "no-such-program" could not be started: ' +
        "there is no program no-such-program on the PATH; install it, or give its path",
    );
  });

  test("shows the output of a server that exits, from its first line on", async () => {
    const usage = "console.error('usage: server --token TOKEN\\n'.repeat(8)); process.exit(2)";
    const message = await connect(program(`console.error("Set the variable TOKEN"); ${usage}`), { era }).catch(why);
    expect(message).toMatch(/exited with code 2: Set the variable TOKEN \| … \| usage: server --token TOKEN/);
  });

  test("shows the output of a server that does not answer", async () => {
    const source = "console.error('Waiting for the database at db.example'); setInterval(() => {}, 1_000)";
    const reason = await connect(program(source), { era, connectMs: 1_500, probeMs: 200 }).catch((error) => error);
    expect(reason).toMatchObject({ code: "timeout" });
    expect(reason.message).toBe(
      "connect: the server did not answer within 1500 ms; its latest output: Waiting for the database at db.example; " +
        "raise connectMs if it starts slowly",
    );
  });
});

test("a program that cannot be started is explained although its era was stored", async () => {
  const { kv: eraCache } = createMemoryStorage();
  const profile = { version: "2025-11-25", era: "stateful", capabilities: {} };
  await eraCache.set("portolan/era/x", JSON.stringify(profile));
  const message = await connect({ command: "no-such-program" }, { eraCache, eraCacheKey: "x" }).catch(why);
  expect(message).toContain("there is no program no-such-program on the PATH");
});

test("the output of a silent server is shown without its secrets", async () => {
  const source = 'console.error("token", process.env.API_TOKEN); setInterval(() => {}, 1_000)';
  const target = { ...program(source), env: { API_TOKEN: "hunter2" } };
  const message = await connect(target, { connectMs: 1_000, probeMs: 200 }).catch(why);
  expect(message).toContain("its latest output: token ***");
  expect(message).not.toContain("hunter2");
});
