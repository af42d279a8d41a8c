export { createClock, type ManualClock } from "../../../../packages/portolan/src/testing/clock.ts";
