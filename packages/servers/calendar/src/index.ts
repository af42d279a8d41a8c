export { type CalendarOptions, createCalendar } from "./server.ts";
