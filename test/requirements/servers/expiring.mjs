// The asking server whose questions wait no longer than a moment.
import createAskingServer from "./asking.mjs";

export default () => createAskingServer({ questionTtlMs: 5 });
