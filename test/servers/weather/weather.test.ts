import { connectInMemory, type TestClient } from "portolan/testing";
import { createWeather } from "portolan-weather";
import { describe, expect, onTestFinished, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import { expectDescribed, failureOf } from "../kit/tools.ts";

const now = Date.parse("2026-11-15T10:00:00Z");

async function open(options: NonNullable<Parameters<typeof connectInMemory>[1]> = {}): Promise<TestClient> {
  const client = await connectInMemory(createWeather({ now: () => now }), options);
  onTestFinished(() => client.close());
  return client as TestClient;
}

// biome-ignore lint/suspicious/noExplicitAny: tests only compare it
type Data = any;

async function textOf(client: TestClient, tool: string, args: object): Promise<string> {
  const { content, isError }: Data = await client.callTool(tool as never, args as never);
  expect(isError, content[0].text).toBeFalsy();
  return content[0].text;
}

const resultOf = async (client: TestClient, expression: string) => {
  const text = await textOf(client, "calculator_arithmetic", { expression });
  return Number(text.slice(expression.length + " = ".length));
};

describe.each(revisions)("on %s", (revision) => {
  test("answers a call of weather_current in each unit", async () => {
    const client = await open({ revision });
    const location = "San Francisco";
    const text = await textOf(client, "weather_current", { location, units: "imperial" });
    expect(text).toMatch(
      /^Current weather in San Francisco: \d+°F, [a-z ]+ with (light|strong) winds from the [a-z]+ at \d+ mph\. Humidity: \d+%$/,
    );
    const fahrenheit = Number(/(\d+)°F/.exec(text)?.[1]);
    const celsius = Number(/(\d+)°C/.exec(await textOf(client, "weather_current", { location }))?.[1]);
    const kelvin = Number(/(\d+) K/.exec(await textOf(client, "weather_current", { location, units: "kelvin" }))?.[1]);
    expect(fahrenheit).toBe(Math.round(celsius * 1.8 + 32));
    expect(kelvin).toBe(Math.round(celsius + 273.15));
  });

  test("forecasts a day, a range and a list of days, always the same", async () => {
    const client = await open({ revision });
    const range = await textOf(client, "checkWeather", { city: "Barcelona", dates: "2024-06-15/2024-06-22" });
    const lines = range.split("\n");
    expect(lines).toHaveLength(8);
    expect(lines[0]).toMatch(/^Barcelona, 2024-06-15: [a-z ]+, \d+ to \d+ °C$/);
    expect(await textOf(client, "checkWeather", { city: "barcelona", dates: "2024-06-15" })).toBe(lines[0]);
    const ends = { city: "Barcelona", dates: ["2024-06-15", "2024-06-22"] };
    expect(await textOf(client, "checkWeather", ends)).toBe(`${lines[0]}\n${lines[7]}`);
  });

  test("offers forecasts as resources, with completion", async () => {
    const client = await open({ revision });
    const { contents } = await client.readResource("weather://forecast/Park%20City/2024-12-24");
    expect(JSON.parse((contents[0] as Data).text)).toMatchObject({ city: "Park City", date: "2024-12-24" });
    const ref = { type: "ref/resource", uri: "weather://forecast/{city}/{date}" } as const;
    expect((await client.complete(ref, { name: "city", value: "Par" })).values).toEqual(["Paris", "Park City"]);
    expect((await client.complete(ref, { name: "date", value: "2026-12-3" })).values).toEqual([
      "2026-12-30",
      "2026-12-31",
    ]);
    await expect(client.readResource("weather://forecast/Atlantis/2024-12-24")).rejects.toThrow();
    await expect(client.readResource("weather://forecast/Paris/2024-02-30")).rejects.toThrow();
  });
});

test("describes its tools", async () => {
  await expectDescribed(await open());
});

test.each([
  ["2 + 3 * 4", 14],
  ["(2 + 3) * 4", 20],
  ["sqrt(16)", 4],
  ["sin(30)", -0.988031624092862],
  ["sin(30 deg)", 0.5],
  ["cos(60°) * 2", 1],
  ["-2^2", -4],
  ["2^3^2", 512],
  ["2 ** -1", 0.5],
  ["7 % 4 - 1 - 1", 1],
  ["0.1 + 0.2", 0.3],
  ["max(1, 2 * 3, 4) / min(2)", 3],
  ["1.5e3 × .5 − π + pi", 750],
  ["ln(e) + log(1000) + log2(8) + E", 7 + Math.E],
])("calculates %s", async (expression, expected) => {
  expect(await resultOf(await open(), expression)).toBeCloseTo(expected, 12);
});

test.each([
  ["2 +", "at the end"],
  ["2 3", 'Expected an operator or the end at character 3, got "3"'],
  ["(2", 'Expected ")" at the end'],
  ["process.exit(1)", 'at character 1, got "process"'],
  ["constructor(1)", 'got "constructor"'],
  ["pow(2)", "pow: expected 2 argument(s), got 1"],
  ["1 / 0", "not a finite number"],
  ["sqrt(-1)", "not a finite number"],
])("rejects %s with the reason", async (expression, reason) => {
  expect(await failureOf(await open(), "calculator_arithmetic", { expression })).toContain(reason);
});

test("survives the deepest expression that fits", async () => {
  const depth = 249;
  expect(await resultOf(await open(), `${"(".repeat(depth)}1${")".repeat(depth)}`)).toBe(1);
});

test.each([
  ["1 Market Street, San Francisco, CA", "San Francisco"],
  ["41.39, 2.17", "Barcelona"],
  ["-75.1,0.5", "-75.1,0.5"],
])("finds the location %s", async (location, place) => {
  expect(await textOf(await open(), "weather_current", { location })).toContain(`Current weather in ${place}:`);
});

test("is warm in summer and cold in winter, in both hemispheres", async () => {
  const client = await open();
  const high = async (city: string, dates: string) => {
    const { structuredContent }: Data = await client.callTool("checkWeather" as never, { city, dates } as never);
    return structuredContent.days[0].high;
  };
  expect(await high("Oslo", "2026-07-15")).toBeGreaterThan(await high("Oslo", "2026-01-15"));
  expect(await high("Sydney", "2026-01-15")).toBeGreaterThan(await high("Sydney", "2026-07-15"));
});

test.each([
  ["weather_current", { location: "Atlantis" }, "or one of Barbados, Barcelona"],
  ["weather_current", { location: "91,0" }, "expected coordinates such as"],
  ["checkWeather", { city: "Oslo", dates: "2024-02-30" }, "dates: expected at most 31 days"],
  ["checkWeather", { city: "Oslo", dates: "2024-06-22/2024-06-15" }, "dates: expected"],
  ["checkWeather", { city: "Oslo", dates: "2024-01-01/2024-12-31" }, "at most 31 days"],
])("%s explains what is wrong with %j", async (tool, args, reason) => {
  expect(await failureOf(await open(), tool, args)).toContain(reason);
});
