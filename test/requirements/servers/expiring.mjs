// The asking server with request states that expire after 5 ms.
import createAskingServer from "./asking.mjs";

export default () => createAskingServer({ questionTtlMs: 5 });
