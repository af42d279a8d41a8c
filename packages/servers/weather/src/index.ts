export { createWeather, type WeatherOptions } from "./server.ts";
