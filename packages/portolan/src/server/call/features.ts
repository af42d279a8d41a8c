export { listen, subscribe } from "../subscribe/listen.ts";
export { completeArgument } from "./completion.ts";
export { getPrompt } from "./prompts.ts";
export { listWithTemplates, readResource } from "./resources.ts";
