import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { makeHome, root, runPortolan } from "./kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const server = join(root, "test/cli/fixtures/documented.mjs");

/** Creates a home with the documented server, trusted under the name `weather`. */
async function makeWeather(): Promise<string> {
  const cwd = makeHome();
  writeFileSync(join(cwd, "server.mjs"), `await import(${JSON.stringify(server)});\n`);
  await runPortolan(["add", "weather", "--", "node", "server.mjs"], { cwd });
  return cwd;
}

async function screenOf(args: readonly string[], cwd: string, columns: number): Promise<string> {
  const terminal = openTerminal(args, { cwd, columns, rows: 200 });
  expect({ args, code: await terminal.exited }).toEqual({ args, code: 0 });
  expect(terminal.broken()).toEqual([]);
  return `${terminal.screen()}\n`;
}

test.each([40, 80, 120])("shows the whole documentation of a tool in %i columns", async (columns) => {
  const cwd = await makeWeather();
  const shown = await screenOf(["ls", "weather.forecast"], cwd, columns);
  await expect(shown).toMatchFileSnapshot(`./screens/tool-${columns}.txt`);
  for (const line of shown.split("\n")) expect(line.length).toBeLessThanOrEqual(columns);
});

test.each([40, 80, 120])("ls wraps descriptions in %i columns and cuts none", async (columns) => {
  const cwd = await makeWeather();
  const shown = await screenOf(["ls", "weather"], cwd, columns);
  await expect(shown).toMatchFileSnapshot(`./screens/ls-${columns}.txt`);
  expect(shown.replace(/\s+/g, " ")).toContain(
    "which is a sentence that no terminal of eighty columns shows in one line.",
  );
  expect(shown.replace(/\s+/g, " ")).toContain("longer than what remains of a line beside its address");
});

test("the next step of ls shows the documentation of the first tool", async () => {
  const cwd = await makeWeather();
  expect(await screenOf(["ls", "weather"], cwd, 80)).toMatch(/^ {2}→ portolan ls weather\.forecast$/m);
  const ofFile = await screenOf(["ls", "./server.mjs"], cwd, 80);
  expect(ofFile).toMatch(/^ {2}→ portolan ls \.\/server\.mjs forecast$/m);
  expect(await screenOf(["ls", "./server.mjs", "forecast"], cwd, 80)).toContain("East is positive");
  const ofCommand = await screenOf(["ls", "--", "node", "server.mjs"], cwd, 80);
  expect(ofCommand).toMatch(/^ {2}→ portolan ls forecast -- node server\.mjs$/m);
  expect(await screenOf(["ls", "forecast", "--", "node", "server.mjs"], cwd, 80)).toContain("East is positive");
});

test("the example call can be typed where only npm finds the command", async () => {
  const cwd = await makeWeather();
  const env = { npm_command: "exec", PATH: dirname(process.execPath) };
  const terminal = openTerminal(["ls", "weather.forecast"], { cwd, env, rows: 200 });
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toMatch(/^ {2}npx portolan call weather\.forecast /m);
});

test("call with --help or -h shows the documentation of the tool, also behind arguments", async () => {
  const cwd = await makeWeather();
  const whole = await screenOf(["ls", "weather.forecast"], cwd, 80);
  expect(await screenOf(["call", "weather.forecast", "--help"], cwd, 80)).toBe(whole);
  expect(await screenOf(["call", "weather", "forecast", "city=Oslo", "-h"], cwd, 80)).toBe(whole);
  expect(await screenOf(["call", "forecast", "--help", "--", "node", "server.mjs"], cwd, 80)).toContain(
    "East is positive",
  );
  expect(await screenOf(["call", "weather", "--help"], cwd, 80)).toContain("forecast(city: string");
  expect((await runPortolan(["call", "--help"], { cwd })).stdout).toContain("Usage: portolan call");
});

test("the call that the documentation shows works with its open values filled in", async () => {
  const cwd = await makeWeather();
  const shown = await screenOf(["ls", "weather.forecast"], cwd, 120);
  const [, line = ""] = /^ {2}portolan call (.*)$/m.exec(shown) ?? [];
  expect(line).toBe("weather.forecast city=Oslo start.lat=… start.lon=… units=metric");
  const { code, stdout } = await runPortolan(["call", ...line.replaceAll("…", "5").split(" ")], { cwd });
  expect({ code, ...JSON.parse(stdout).structuredContent }).toEqual({ code: 0, city: "Oslo", highs: [1, 2] });
});

test("--schema adds the schemas, --json gives the definition", async () => {
  const cwd = await makeWeather();
  expect(await screenOf(["ls", "weather.forecast", "--schema"], cwd, 80)).toContain('"uniqueItems": true');
  const { stdout } = await runPortolan(["ls", "weather.forecast"], { cwd });
  expect(JSON.parse(stdout)).toMatchObject({
    server: { info: { name: "documented" } },
    tool: { name: "forecast", inputSchema: { required: ["city", "start", "units"] } },
  });
});

test("shows the documentation of a prompt, and suggests a name for one that does not exist", async () => {
  const cwd = await makeWeather();
  expect(await screenOf(["ls", "weather.plan"], cwd, 80)).toBe(
    "/plan\n\nPlans a journey\n\narguments\n  to  text · required\n      The destination\n  by  text\n      Train, ship or foot\n",
  );
  const { code, stderr } = await runPortolan(["ls", "weather.forcast"], { cwd });
  expect({ code, ...JSON.parse(stderr).error }).toEqual({
    code: 2,
    kind: "usage",
    message: 'weather has no tool or prompt "forcast"; did you mean forecast?',
    next: "portolan ls weather",
  });
});
