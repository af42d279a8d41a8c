import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { root, run } from "../examples/example.ts";
import { freePort } from "../kit/free-port.ts";
import {
  type Check,
  deviationOf,
  exceptions,
  expected,
  judge,
  judgeAuthority,
  judgeClient,
  judgeExtensions,
  judgeServer,
  listScenarios,
  listUnversioned,
  startServer,
  suiteNode,
  unversioned,
  type Verdict,
} from "./suite.mjs";

const ours = `with Node ${process.version}`;
const scenariosOf = (side: "server" | "client", revision: string) =>
  expected[revision]![side].map((scenario): [string, string, string | undefined] => {
    const exception = exceptions[side][scenario];
    return [scenario, exception === undefined ? "" : ` (exception: ${exception})`, exception];
  });

let server: Awaited<ReturnType<typeof startServer>>;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server.close());

test("scenarios.json lists all scenarios of the suite", async () => {
  expect(await listScenarios()).toEqual(expected);
});

describe.each(Object.keys(expected))("%s", (revision) => {
  describe("server", () => {
    let verdicts: Map<string, Verdict>;

    beforeAll(async () => {
      verdicts = await judgeServer(server.url, revision);
    }, 120_000);

    test.each(scenariosOf("server", revision))("%s%s", (scenario, _, exception) => {
      expect(deviationOf(verdicts.get(scenario), exception)).toBeUndefined();
    });
  });

  describe("client", () => {
    test.each(scenariosOf("client", revision))("%s%s", async (scenario, _, exception) => {
      const verdict = await judgeClient(scenario, revision);
      expect(deviationOf(verdict, exception)).toBeUndefined();
      expect(verdict.printed).toContain(ours);
    });
  });
});

describe("scenarios that belong to no revision", () => {
  test("are all listed in unversioned.json", async () => {
    expect(await listUnversioned()).toEqual(unversioned);
  });

  test("the server passes all of its extensions, but for exceptions", async () => {
    const verdicts = await judgeExtensions(server.url);
    const deviations = unversioned.servers.map((name) => deviationOf(verdicts.get(name), exceptions.server[name]));
    expect(deviations.filter((deviation) => deviation !== undefined)).toEqual([]);
  }, 120_000);

  test.each(unversioned.extensions)("the client passes %s", async (scenario) => {
    const verdict = await judgeClient(scenario, "extensions");
    expect(verdict).toMatchObject({ passed: true, why: "", printed: expect.stringContaining(ours) });
  });

  test("the authorization server passes all of its scenarios", async () => {
    const authority = await startServer(join(root, "test/conformance/authority.mjs"));
    onTestFinished(authority.close);
    const verdicts = await judgeAuthority(authority.url);
    expect(Object.fromEntries(verdicts)).toEqual(
      Object.fromEntries(unversioned.authority.map((scenario) => [scenario, { passed: true, why: "" }])),
    );
  });
});

describe("npm run conformance", () => {
  const script = join(root, "test/conformance/run.mjs");

  test("prints the number of passed scenarios, and succeeds when all passed", async () => {
    const { code, stdout } = await run(script, ["--server", server.url, "--revision", "2025-03-26"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "2025-03-26 server 1/1\n" });
  });

  test("fails and prints each deviation", async () => {
    const { code, stdout } = await run(script, ["--client", "false", "--revision", "2025-03-26"]);
    expect(code).toBe(1);
    const [line, ...deviations] = stdout.split(/\n(?! {4})/);
    expect(line).toBe("2025-03-26 client 0/2");
    expect(deviations).toEqual([...expected["2025-03-26"]!.client.map((name) => expect.stringContaining(name)), ""]);
  });
});

describe("the client on the official SDK", () => {
  const client = `"${process.execPath}" "${join(root, "test/peers/conformance/sdk-v2-client.mjs")}"`;

  test.each([
    ["tools_call", "2026-07-28"],
    ["elicitation-sep1034-client-defaults", "2025-11-25"],
    ["auth/metadata-default", "2025-11-25"],
  ])("passes %s on %s", async (scenario, revision) => {
    const verdict = await judgeClient(scenario, revision, client);
    expect(verdict).toMatchObject({ passed: true, printed: expect.stringContaining(ours) });
  });
});

describe("Node versions", () => {
  test("the suite runs on Node 24, the tests on another Node", () => {
    const version = execFileSync(suiteNode, ["-p", "process.version"], { encoding: "utf8" }).trim();
    expect(version).toMatch(/^v24\./);
    expect(process.execPath).not.toBe(suiteNode);
  });

  test("our server runs on the same Node as the tests", () => {
    expect(server.printed).toContain(ours);
  });

  test("the npm script of our client runs on the same Node as the tests", async () => {
    const script = `npm --prefix "${root}" run --silent conformance:client --`;
    const verdict = await judgeClient("tools_call", "2026-07-28", script);
    expect(verdict).toMatchObject({ passed: true, printed: expect.stringContaining(ours) });
  });

  test("the npm script of our server runs on the same Node, on the given port, and stops at SIGTERM", async () => {
    const port = await freePort();
    const child = spawn("npm", ["run", "--silent", "conformance:server"], {
      cwd: root,
      env: { ...process.env, PORT: String(port) },
      stdio: ["ignore", "pipe", "inherit"],
      detached: true,
    });
    const exited = once(child, "close");
    onTestFinished(() => {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, "SIGKILL");
    });
    const [printed] = await once(child.stdout.setEncoding("utf8"), "data");
    expect(printed).toBe(`Serving http://localhost:${port}/mcp ${ours}\n`);
    process.kill(-child.pid!, "SIGTERM");
    await exited;
    await expect(fetch(`http://localhost:${port}/mcp`)).rejects.toThrow();
  });
});

describe("evaluation of verdicts", () => {
  const success: Check = { id: "a", status: "SUCCESS" };

  test.each<[string, Check[], boolean]>([
    ["a success passes", [success, { id: "b", status: "INFO" }, { id: "c", status: "SKIPPED" }], true],
    ["a failure does not pass", [success, { id: "b", status: "FAILURE" }], false],
    ["a warning does not pass", [success, { id: "b", status: "WARNING" }], false],
    ["only remarks do not pass", [{ id: "b", status: "INFO" }], false],
    ["only valid messages do not pass", [{ id: "wire-schema-valid", status: "SUCCESS" }], false],
  ])("%s", (_, checks, passed) => {
    expect(judge(checks)).toMatchObject({ passed });
  });

  test("a client that exits with an error code does not pass, even if all checks succeed", async () => {
    const client = `"${process.execPath}" "${join(root, "test/conformance/client.mjs")}"`;
    const verdict = await judgeClient("initialize", "2025-11-25", `sh -c '${client} "$0"; exit 3'`);
    expect(verdict).toMatchObject({ passed: false, why: expect.stringContaining("code 3") });
  });

  test("an exception that passes is a deviation, one that fails is not", () => {
    expect(deviationOf({ passed: true, why: "" }, "not there yet")).toContain("exceptions.json: not there yet");
    expect(deviationOf({ passed: false, why: "lost" }, "not there yet")).toBeUndefined();
  });

  test("a failed scenario and a scenario that was not run are deviations", () => {
    expect(deviationOf({ passed: true, why: "" }, undefined)).toBeUndefined();
    expect(deviationOf({ passed: false, why: "lost" }, undefined)).toBe("lost");
    expect(deviationOf(undefined, undefined)).toContain("not run");
    expect(deviationOf(undefined, "not there yet")).toContain("not run");
  });

  test("exceptions.json lists only existing scenarios", () => {
    for (const side of ["server", "client"] as const) {
      const known = [...Object.values(expected).flatMap((lists) => lists[side]), ...unversioned.servers];
      expect(known).toEqual(expect.arrayContaining(Object.keys(exceptions[side])));
    }
  });
});
