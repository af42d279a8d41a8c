import { expect, test } from "vitest";
import { forOfficialClientsOverBoth } from "../kit/official.ts";
import { connectTo, entryOf, scriptOf } from "../kit/programs.ts";

const script = scriptOf("weather");

test("the host configuration in the README works", async () => {
  const client = await connectTo(entryOf("examples/servers/weather.json"));
  const tools = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["calculator_arithmetic", "checkWeather", "weather_current"]);
});

forOfficialClientsOverBoth(script, "asks for the weather and calculates", async (client) => {
  const weather = await client.callTool("weather_current", { location: "San Francisco", units: "imperial" });
  expect(weather.structuredContent).toMatchObject({ location: "San Francisco", units: "imperial" });
  const sum = await client.callTool("calculator_arithmetic", { expression: "2 + 3 * 4" });
  expect(sum.structuredContent).toEqual({ result: 14 });
  const { contents } = await client.readResource("weather://forecast/barcelona/2024-06-15");
  expect(JSON.parse(contents[0].text)).toMatchObject({ city: "Barcelona", date: "2024-06-15" });
  const ref = { type: "ref/resource", uri: "weather://forecast/{city}/{date}" };
  const { completion } = await client.complete({ ref, argument: { name: "city", value: "Par" } });
  expect(completion.values).toEqual(["Paris", "Park City"]);
});
