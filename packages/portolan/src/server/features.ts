export { completeArgument } from "./completion.ts";
export { listen, subscribe } from "./listen.ts";
export { getPrompt } from "./prompts.ts";
export { listWithTemplates, readResource } from "./resources.ts";
