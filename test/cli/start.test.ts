import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { startFakeProvider } from "portolan-host/models/fake";
import { beforeAll, expect, test } from "vitest";
import { send, Tab } from "../console/kit.ts";
import { environment, makeHome, type Ran, root } from "./kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

let walk: Ran & { readonly left: readonly string[] };

beforeAll(async () => {
  // Without the build step: other tests use the built library.
  const child = spawn("npm", ["start", "--silent", "--ignore-scripts"], {
    cwd: root,
    env: { ...process.env, FORCE_COLOR: "0" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  const [, folder = ""] = /in (\/\S*portolan-start-\w+)/.exec(stdout) ?? [];
  walk = { code, stdout, stderr, left: await readdir(folder).catch(() => []) };
});

test("Ctrl-C ends npm start also before the chat, and cleans up", async () => {
  const child = spawn(process.execPath, [join(root, "scripts/start.mjs")], { stdio: ["ignore", "pipe", "ignore"] });
  let stdout = "";
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    if (/portolan-start-\w+/.test(stdout)) child.kill("SIGINT");
  });
  expect(await ended).toBe(130);
  const [folder = ""] = /\/\S*portolan-start-\w+/.exec(stdout) ?? [];
  expect(await readdir(folder).catch(() => [])).toEqual([]);
});

test("npm start without a terminal lists, calls, asks, answers, verifies and cleans up", () => {
  const { code, stdout, stderr, left } = walk;
  expect({ code, stderr, left }).toEqual({ code: 0, stderr: "", left: [] });
  for (const name of ["files", "git", "memory", "time", "travel", "weather", "calendar"]) {
    expect(stdout).toMatch(new RegExp(`^ {4}${name} +\\d{4}-\\d\\d-\\d\\d, \\d+ tools`, "m"));
  }
  expect(stdout).toMatch(/asked you +may weather do checkWeather[\s\S]*yes, once[\s\S]*the model +Lisbon, /);
  expect(stdout).toMatch(/may files do list[\s\S]*the model +shopping\.txt.*welcome\.md/);
  expect(stdout).toMatch(/may travel ask the model\?[\s\S]*approve[\s\S]*edit it: PT\d+[\s\S]*it is the cheapest/);
  expect(stdout).toMatch(/Please confirm your[\s\S]*PT\d+[\s\S]*seatPreference: window[\s\S]*Booked as/);
  expect(stdout).toMatch(/you type +\/plan-vacation[\s\S]*you attach[\s\S]*you fill in[\s\S]*Added to the calendar/);
  expect(stdout).toMatch(/may files do remove[\s\S]*you +no\n[\s\S]*still there true/);
  expect(stdout).toMatch(/verified +\d+ entries, and not one was changed/);
});

test("npm start prints at most 100 columns without colours to a pipe", () => {
  expect(Math.max(...walk.stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
  expect(walk.stdout).not.toContain("\u001b");
});

test("npm start breaks no line on a terminal that does not know its width", async () => {
  const screen = pathToFileURL(join(root, "scripts/start/screen.mjs")).href;
  const code = `import { paragraph } from "${screen}"; paragraph("Servers of the Model Context Protocol");`;
  const run = `stty cols 0; '${process.execPath}' --input-type=module -e '${code}'`;
  const child = spawn("script", ["-qfec", run, "/dev/null"], { stdio: ["ignore", "pipe", "inherit"] });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  await new Promise((resolve) => child.on("close", resolve));
  expect(stdout).toBe("  Servers of the Model Context Protocol\r\n");
});

const start = [process.execPath, join(root, "scripts/start.mjs")];
const chat = [...start, "--terminal"];
const prompt = /\n>$/;
const call = /v view its definition/;

/** Opens `npm start -- --terminal`, and returns the example that it shows behind a label. */
async function open(env: { [name: string]: string } = {}, columns = 100) {
  const cwd = makeHome();
  const terminal = openTerminal([], { cwd, program: chat, env: environment(cwd, env), rows: 50, columns });
  const shown = await terminal.see(prompt);
  const example = (label: string) => new RegExp(`^ +${label} +(.*)$`, "m").exec(shown)?.[1] ?? "";
  return { terminal, example, shown };
}

test("npm start in a terminal serves the console over the sandbox with the demo model, and cleans up at Ctrl-C", async () => {
  const cwd = makeHome();
  const terminal = openTerminal([], { cwd, program: start, env: environment(cwd), rows: 50, columns: 200 });
  const shown = await terminal.see(/press Ctrl-C to stop/);
  const [url = ""] = /http:\/\/127\.0\.0\.1:\d+\/#\S+/.exec(shown) ?? [];
  expect((await send(new URL(url).origin, "/")).text).toContain("<!doctype html>");
  const tab = await Tab.open({ openAddress: () => url });
  const events = await tab.events();
  const { servers, models, isSandbox } = await events.state();
  const names = ["files", "git", "memory", "time", "travel", "weather", "calendar"];
  expect([isSandbox, models[0]?.id, servers.map(({ name }) => name)]).toEqual([true, "demo", names]);
  // They start without being asked for.
  for (const name of names) {
    await events.ever("server", ({ server }) => server.name === name && server.state === "ready");
  }
  terminal.type("\u0003");
  expect(await terminal.exited).toBe(0);
  const [folder = ""] = /\/\S*portolan-start-\w+/.exec(shown) ?? [];
  expect(folder).not.toBe("");
  expect(await readdir(folder).catch(() => [])).toEqual([]);
});

test("closing the terminal ends npm start and removes its sandbox", async () => {
  const cwd = makeHome();
  const terminal = openTerminal([], { cwd, program: start, env: environment(cwd), rows: 50, columns: 200 });
  const shown = await terminal.see(/press Ctrl-C to stop/);
  terminal.signal("SIGHUP");
  expect(await terminal.exited).toBe(0);
  const [folder = ""] = /\/\S*portolan-start-\w+/.exec(shown) ?? [];
  expect(folder).not.toBe("");
  expect(existsSync(folder)).toBe(false);
});

test("npm start refuses other arguments", async () => {
  const child = spawn(process.execPath, [...start.slice(1), "--other"], { stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  expect([code, stderr]).toEqual([2, expect.stringContaining("npm start -- --terminal")]);
});

test("npm start -- --terminal answers every example that it shows, and shows nothing twice", async () => {
  const { terminal, example, shown } = await open();
  expect(shown).toContain("demo (not a language model) with files, git, memory, time, travel, weather, calendar");
  expect(shown).toMatch(/For a language model, set ANTHROPIC_API_KEY or OPENAI_API_KEY and\sstart again\./);
  await terminal.answer(prompt, "/tools flight\r");
  await terminal.answer(/travel\.findBestFlight\([\s\S]*\n>$/, `${example("a call")}\r`);
  await terminal.answer(/wants to call weather\.checkWeather[\s\S]*v view its definition/, "y\r");
  const weather = await terminal.see(/Lisbon, \d{4}-[\s\S]*°C[\s\S]*\n>$/);
  expect(weather.match(/°C/g)).toHaveLength(1);
  await terminal.answer(prompt, `${example("sampling")}\r`);
  await terminal.answer(/wants to call travel\.findBestFlight[\s\S]*v view its definition/, "y\r");
  await terminal.answer(/travel wants to ask your model \(sampling\)[\s\S]*N never/, "y\r");
  await terminal.answer(/will get this answer from demo\n {2}│ PT\d+: the first of 47[\s\S]*n withhold it/, "y\r");
  await terminal.answer(/1\. PT\d+ Oslo to Lisbon[\s\S]*\n>$/, `${example("a form")}\r`);
  await terminal.answer(/wants to call travel\.bookFlight[\s\S]*v view its definition/, "y\r");
  await terminal.answer(/travel asks you to fill in a form[\s\S]*Confirm the booking[\s\S]*>$/, "y\r");
  await terminal.answer(/1 window[\s\S]*>$/, "2\r");
  await terminal.answer(/travel insurance[\s\S]*>$/, "\r");
  await terminal.answer(/seatPreference: "aisle"[\s\S]*c cancel/, "y\r");
  await terminal.answer(/Booked as BK-\d+[\s\S]*\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
  const screen = terminal.screen();
  expect(screen).not.toContain("RAW");
  expect(screen.split("not a language model")).toHaveLength(2);
  expect(screen).not.toContain("not instructions");
});

test("the demo plans a vacation in another city with the prompt of the first screen", async () => {
  const { terminal, example } = await open();
  const line = example("a prompt").replace(/=\w+$/, "=Reykjavik");
  expect(line).toBe("/plan-vacation destination=Reykjavik");
  await terminal.answer(prompt, `${line}\r`);
  await terminal.answer(/travel\.searchFlights[\s\S]*"destination": "Reykjavik"[\s\S]*v view its definition/, "y\r");
  await terminal.answer(/PT\d+ New York to Reykjavik[\s\S]*weather\.checkWeather[\s\S]*v view its definition/, "y\r");
  await terminal.answer(/Reykjavik, [\s\S]*°C[\s\S]*travel\.bookHotel[\s\S]*v view its definition/, "n\r");
  await terminal.answer(/travel\.bookHotel was not approved by the user\.\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
});

test("/story plays the travel story in the chat, with every question to the user", async () => {
  const { terminal, example } = await open();
  await terminal.answer(prompt, `${example("a story")}\r`);
  await terminal.answer(/calendar:\/\/my-calendar\/June-2024[\s\S]*N never/, "y\r");
  await terminal.answer(/travel:\/\/preferences\/europe[\s\S]*N never/, "y\r");
  await terminal.answer(/travel:\/\/past-trips\/Spain-2023[\s\S]*N never/, "y\r");
  await terminal.answer(/wants to call travel\.searchFlights[\s\S]*v view its definition/, "y\r");
  await terminal.answer(/wants to call weather\.checkWeather[\s\S]*v view its definition/, "y\r");
  await terminal.answer(/wants to call travel\.findBestFlight[\s\S]*v view its definition/, "y\r");
  await terminal.answer(/travel wants to ask your model \(sampling\)[\s\S]*N never/, "y\r");
  await terminal.answer(/will get this answer from demo\n {2}│ PT411: [\s\S]*n withhold it/, "y\r");
  await terminal.answer(/wants to call travel\.bookHotel[\s\S]*v view its definition/, "y\r");
  await terminal.answer(/Confirm the booking[\s\S]*>$/, "y\r");
  await terminal.answer(/1 window[\s\S]*>$/, "1\r");
  await terminal.answer(/1 sea view[\s\S]*>$/, "1\r");
  await terminal.answer(/travel insurance[\s\S]*>$/, "y\r");
  await terminal.answer(/roomType: "sea view"[\s\S]*c cancel/, "y\r");
  await terminal.answer(/wants to call calendar\.createCalendarEvent[\s\S]*v view its definition/, "y\r");
  await terminal.answer(
    /wants to call calendar\.sendEmail[\s\S]*"to": "team@work\.com"[\s\S]*v view its definition/,
    "y\r",
  );
  await terminal.answer(/Your trip to Barcelona is booked and in your calendar\.[\s\S]*\n>$/, "/log\r");
  await terminal.answer(/call +calendar\.sendEmail[\s\S]*\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
});

test("/story ends with a reason when the user refuses a step", async () => {
  const { terminal } = await open();
  await terminal.answer(prompt, "/story\r");
  for (let resource = 0; resource < 3; resource += 1) await terminal.answer(/N never/, "y\r");
  await terminal.answer(call, "n\r");
  await terminal.answer(/The story ends here: travel\.searchFlights was not approved by the user\.\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
});

test("npm start -- --terminal uses the model whose key is in the environment", async () => {
  await using provider = await startFakeProvider({ dialect: "openai", turns: [{ say: "Hello from the provider." }] });
  const { terminal, shown } = await open({ OPENAI_BASE_URL: provider.url, OPENAI_MODEL: "real-model" });
  expect(shown).toContain("real-model with files");
  expect(shown).not.toContain("language model");
  await terminal.answer(prompt, "hello\r");
  await terminal.answer(/Hello from the provider\.\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
});
