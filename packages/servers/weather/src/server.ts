import { createServer, type Server, ToolError } from "portolan/server";
import { annotations, array, dayOf, daysFrom, integer, isDay, object, string, textResult } from "portolan-server-kit";
import { findPlace, type Place, placeNames, skies, type Weather, weatherOf } from "./climate.ts";
import { daysIn } from "./days.ts";
import { ExpressionError, evaluate } from "./expression.ts";

/** Options of `createWeather`. */
export interface WeatherOptions {
  /** Returns the current time in milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
}

type Units = "metric" | "imperial" | "kelvin";

const maxDays = 31;
const sky = { enum: [...skies], description: "The sky" };

/** Creates a server with invented weather and a calculator. */
export function createWeather({ now = Date.now }: WeatherOptions = {}): Server {
  const today = () => dayOf(now());
  return createServer(
    { name: "portolan-weather", version: "0.1.0", title: "Weather" },
    { instructions: "The weather is invented: the same for each place and day, and plausible for the season." },
  )
    .tool("calculator_arithmetic", {
      title: "Calculator",
      description:
        "Perform mathematical calculations including basic arithmetic, trigonometric functions, and algebraic operations. Angles are in radians; sin(30 deg) takes degrees",
      input: object({
        expression: string("Mathematical expression to evaluate (e.g., '2 + 3 * 4', 'sin(30)', 'sqrt(16)')", {
          minLength: 1,
          maxLength: 500,
        }),
      }),
      output: object({ result: { type: "number", description: "The value of the expression" } }),
      annotations: annotations.reads,
      run({ expression }: { expression: string }) {
        try {
          const result = evaluate(expression);
          return textResult(`${expression} = ${result}`, { result });
        } catch (reason) {
          // A ToolError reaches the model, which can correct the expression. Any other error stays hidden from it.
          if (reason instanceof ExpressionError) throw new ToolError(`expression: ${reason.message}`);
          throw reason;
        }
      },
    })
    .tool("weather_current", {
      title: "Weather Information",
      description: "Get current weather information for any location worldwide",
      input: object(
        {
          location: string("City name, address, or coordinates (latitude,longitude)", { minLength: 1, maxLength: 200 }),
          units: {
            ...{ type: "string", enum: ["metric", "imperial", "kelvin"], default: "metric" },
            description: "Temperature units to use in response",
          },
        },
        ["units"],
      ),
      output: object({
        location: string("The place"),
        temperature: integer("Temperature in the requested units"),
        units: { enum: ["metric", "imperial", "kelvin"], description: "The units" },
        sky,
        wind: integer("Wind speed: mph with imperial units, otherwise km/h"),
        windFrom: string("Direction of the wind"),
        humidity: integer("Humidity in percent"),
      }),
      annotations: annotations.reads,
      run({ location, units = "metric" }: { location: string; units?: Units }) {
        const weather = weatherOf(needPlace("location", location), today());
        const { city, sky, windFrom, humidity } = weather;
        const temperature = toUnits(weather.high, units);
        const wind = units === "imperial" ? Math.round(weather.wind / 1.609) : weather.wind;
        const speed = `${wind} ${units === "imperial" ? "mph" : "km/h"}`;
        const strength = weather.wind < 20 ? "light" : "strong";
        return textResult(
          `Current weather in ${city}: ${temperature}${symbols[units]}, ${sky} with ${strength} winds from the ${windFrom} at ${speed}. Humidity: ${humidity}%`,
          { location: city, temperature, units, sky, wind, windFrom, humidity },
        );
      },
    })
    .tool("checkWeather", {
      title: "Weather on travel dates",
      description: "Returns the forecast for a city on one day, several days or a range of days",
      input: object({
        city: string("City name, address, or coordinates (latitude,longitude)", { minLength: 1, maxLength: 200 }),
        dates: {
          anyOf: [
            { type: "string", minLength: 1, maxLength: 30 },
            { type: "array", items: { type: "string", maxLength: 10 }, minItems: 1, maxItems: maxDays },
          ],
          description: "A day such as 2024-06-15, a range such as 2024-06-15/2024-06-22, or a list of days",
        },
      }),
      output: object({
        city: string("The city"),
        days: array(
          object({
            date: string("The day"),
            sky,
            high: integer("Highest temperature in degrees Celsius"),
            low: integer("Lowest temperature in degrees Celsius"),
          }),
          "The forecast of each day",
        ),
      }),
      annotations: annotations.reads,
      run({ city, dates }: { city: string; dates: string | string[] }) {
        const place = needPlace("city", city);
        const forecasts = needDays(dates).map((date) => weatherOf(place, date));
        const days = forecasts.map(({ date, sky, high, low }) => ({ date, sky, high, low }));
        return textResult(forecasts.map(describe).join("\n"), { city: place.name, days });
      },
    })
    .template("weather://forecast/{city}/{date}", {
      name: "weather-forecast",
      title: "Weather Forecast",
      description: "Get weather forecast for any city and date",
      mimeType: "application/json",
      list: () =>
        placeNames.map((name) => ({
          uri: `weather://forecast/${encodeURIComponent(name)}/${today()}`,
          name: `${name} today`,
        })),
      complete: {
        city: (typed) => placeNames.filter((name) => name.toLowerCase().startsWith(typed.toLowerCase())),
        date: (typed) => daysFrom(today(), 366).filter((day) => day.startsWith(typed)),
      },
      read({ city, date }) {
        const place = findPlace(String(city));
        return place && isDay(String(date)) ? JSON.stringify(weatherOf(place, String(date))) : undefined;
      },
    });
}

const symbols: { readonly [units in Units]: string } = { metric: "°C", imperial: "°F", kelvin: " K" };

function toUnits(celsius: number, units: Units): number {
  if (units === "imperial") return Math.round(celsius * 1.8 + 32);
  return units === "kelvin" ? Math.round(celsius + 273.15) : celsius;
}

function describe({ city, date, sky, high, low }: Weather): string {
  return `${city}, ${date}: ${sky}, ${low} to ${high} °C`;
}

function needPlace(argument: string, text: string): Place {
  const place = findPlace(text);
  if (place) return place;
  throw new ToolError(
    `${argument}: expected coordinates such as 41.39,2.17 or one of ${placeNames.join(", ")}, got ${JSON.stringify(text)}`,
  );
}

function needDays(dates: string | string[]): string[] {
  const days = typeof dates === "string" ? daysIn(dates) : dates.every(isDay) ? dates : undefined;
  if (days !== undefined && days.length <= maxDays) return days;
  throw new ToolError(
    `dates: expected at most ${maxDays} days, such as 2024-06-15 or 2024-06-15/2024-06-22, got ${JSON.stringify(dates)}`,
  );
}
