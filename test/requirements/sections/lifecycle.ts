import type { Requirement } from "../requirement.ts";
import { capabilities } from "./lifecycle/capabilities.ts";
import { ending } from "./lifecycle/ending.ts";
import { eras } from "./lifecycle/eras.ts";
import { handshake } from "./lifecycle/handshake.ts";

/** Requirements on the lifecycle of a connection. */
export const lifecycle: readonly Requirement[] = [...handshake, ...capabilities, ...eras, ...ending];
