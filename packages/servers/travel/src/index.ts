export { createTravel, type TravelOptions } from "./server.ts";
